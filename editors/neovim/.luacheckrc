std = 'luajit'
local open = { other_fields = true, read_only = false }
read_globals = {
  vim = {
    other_fields = true,
    fields = { g = open, b = open, w = open, o = open, bo = open, wo = open, env = open, opt = open, ui = open, v = open },
  },
}
files['tests'] = {
  read_globals = { 'MiniTest' },
  globals = { 'vim.notify' },
}
max_line_length = 140
max_string_line_length = false
max_comment_line_length = 160
self = false
