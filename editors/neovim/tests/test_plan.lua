local H = require('helpers')
local eq, has, has_not = H.eq, H.has, H.has_not
local T = H.set()

---@param child table
---@param name string of the side
---@return string[]
local function side(child, name)
  return vim.split(child.buffer('memls://' .. name .. '/'), '\n')
end

--- Goes to the window that shows a buffer of the review.
local function go_to(child, name)
  child.lua(
    [[for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
        if vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)):find('memls://' .. ... .. '/', 1, true) then
          vim.api.nvim_set_current_win(win)
        end
      end]],
    { name }
  )
end

T['what words find is proposed, and nothing is chosen until the person does'] = function()
  local child = H.editor()
  child.choose(1)
  child.cmd('Memls forget gateway')
  local screen = child.shows('as it would be')
  has(screen, 'a apply 0 of 2')
  has(screen, '[ ] ')
  child.type_keys('a')
  child.note('nothing is chosen')
  eq(H.read(child.memory .. '/port.md') ~= nil, true)
  child.type_keys('<Space>')
  has(child.shows('a apply 1 of 2'), '[x] ')
  child.type_keys('a')
  child.note('takes it back')
  eq((H.read(child.memory .. '/port.md') == nil) ~= (H.read(child.memory .. '/ferry.md') == nil), true)
  eq(child.lua_get('#vim.api.nvim_list_tabpages()'), 1)
end

T['leaving a review does nothing'] = function()
  local child = H.editor()
  child.cmd('Memls forget gateway')
  child.shows('as it would be')
  child.type_keys('<Space>', 'q')
  eq(child.lua_get('#vim.api.nvim_list_tabpages()'), 1)
  eq(H.read(child.memory .. '/port.md') ~= nil, true)
  eq(child.buffer('memls://before/'), vim.NIL)
end

T['an entry of a file is cut, in a native diff'] = function()
  local child = H.editor()
  child.choose(1)
  child.cmd('edit .memory/refund.md')
  child.type_keys('/Nordhavn<CR>')
  child.cmd('Memls forget')
  child.shows('as it would be')
  eq(child.lua_get('#_G.asked[1].items'), 2)
  has(table.concat(side(child, 'before'), '\n'), 'Nordhavn never refunds')
  has_not(table.concat(side(child, 'after'), '\n'), 'Nordhavn never refunds')
  eq(child.lua_get([[#vim.tbl_filter(function(w) return vim.wo[w].diff end, vim.api.nvim_tabpage_list_wins(0))]]), 2)
  child.type_keys('a')
  child.note('changed project:refund.md')
  eq(H.read(child.memory .. '/refund.md'), (H.notes['refund.md']:gsub('%- Nordhavn never refunds.\n', '')))
  -- The buffer that shows the file has read it again.
  child.wait([[not vim.iter(vim.api.nvim_buf_get_lines(vim.fn.bufnr('refund.md'), 0, -1, false)):any(function(l)
    return l:find('Nordhavn') ~= nil end)]])
end

T['a hunk is refused with do, and what is left is applied as it was edited'] = function()
  local child = H.editor()
  child.choose(1)
  child.cmd('edit .memory/refund.md')
  child.type_keys('/Nordhavn<CR>')
  child.cmd('Memls forget')
  child.shows('as it would be')
  go_to(child, 'after')
  child.type_keys('gg', ']c', 'do')
  has(table.concat(side(child, 'after'), '\n'), 'Nordhavn never refunds')
  go_to(child, 'plan')
  child.type_keys('a')
  child.note('nothing is left of the change')
  go_to(child, 'after')
  child.type_keys('/Asteria<CR>', 'dd')
  child.cmd('write')
  child.note('changed project:refund.md')
  local now = H.read(child.memory .. '/refund.md')
  has(now, 'Nordhavn never refunds')
  has_not(now, 'Asteria')
end

T['a file with unsaved changes is left alone, and they are kept'] = function()
  local child = H.editor()
  child.choose(1)
  child.lua('vim.g.memls_auto_attach = false') -- else the server knows, and makes no plan
  child.cmd('edit .memory/port.md')
  child.api.nvim_buf_set_lines(0, -1, -1, false, { 'not yet written' })
  child.cmd('Memls forget gateway listens 7433')
  child.shows('as it would be')
  child.type_keys('a')
  has(child.note('has unsaved changes').text, 'write or drop them first')
  eq(H.read(child.memory .. '/port.md'), H.notes['port.md'])
  eq(child.fn.getbufvar('port.md', '&modified'), 1)
end

T['forgetting at a buffer with unsaved changes asks to write it first'] = function()
  local child = H.editor()
  child.cmd('edit .memory/port.md')
  child.api.nvim_buf_set_lines(0, -1, -1, false, { 'not yet written' })
  child.cmd('Memls forget')
  child.note('write it first')
  child.forget_notes()
  child.cmd('Memls forget gateway listens 7433')
  child.note('unsaved changes')
end

T['a file that changes while it is reviewed is not overwritten'] = function()
  local child = H.editor()
  child.choose(1)
  child.cmd('Memls forget gateway listens 7433')
  child.shows('as it would be')
  H.write(child.memory .. '/port.md', H.notes['port.md'] .. 'more\n')
  child.type_keys('a')
  child.wait([[vim.iter(_G.notes):any(function(n) return n.level == vim.log.levels.ERROR end)]])
  has(H.read(child.memory .. '/port.md'), 'more')
end

T['undo takes back byte for byte, and can be chosen from the log'] = function()
  local child = H.editor()
  child.choose(1)
  child.cmd('edit .memory/port.md')
  child.cmd('Memls forget')
  child.shows('as it would be')
  child.type_keys('a')
  child.note('gone project:port.md')
  child.cmd('Memls undo')
  child.note('taken back')
  eq(H.read(child.memory .. '/port.md'), H.notes['port.md'])
  child.forget_notes()
  child.cmd('Memls! undo')
  child.note('taken back')
  eq(H.read(child.memory .. '/port.md'), nil)
  child.forget_notes()
  child.cmd('Memls log')
  child.note('taken back')
  eq(H.read(child.memory .. '/port.md'), H.notes['port.md'])
end

T['with a bang nothing is kept'] = function()
  local child = H.editor()
  child.choose(1)
  child.cmd('edit .memory/port.md')
  child.cmd('Memls! forget')
  has(child.shows('as it would be'), 'for good')
  child.type_keys('a')
  has_not(child.note('gone project:port.md').text, 'undo')
  has(child.lua_get('_G.asked[2].prompt'), 'without a trace')
end

T['remember: a text, a range, what is known'] = function()
  local child = H.editor()
  child.cmd('Memls remember the staging database is rebuilt every Monday')
  local note = child.note('new user:')
  has(note.text, ':Memls undo takes it back')
  child.api.nvim_buf_set_lines(0, 0, -1, false, { 'the harbour gate', 'closes at six', 'not this' })
  child.forget_notes()
  child.cmd('1,2Memls remember')
  child.note('new user:')
  local found = vim.fn.glob(child.home .. '/.local/share/memls/user/*harbour*', true, true)
  has(H.read(found[1]), 'closes at six')
  child.forget_notes()
  child.cmd('Memls remember the staging database is rebuilt every Monday')
  child.note('known already')
end

T['a credential is refused by the name of its rule'] = function()
  local child = H.editor()
  child.cmd('Memls remember the deploy key is ghp_' .. ('abcDEF0123456789'):rep(3):sub(1, 36))
  local note = child.note('github-token')
  has_not(note.text, 'ghp_')
end

T['pin and its bang change the header of this file'] = function()
  local child = H.editor()
  child.cmd('edit .memory/refund.md')
  child.cmd('Memls pin')
  child.note('is pinned')
  has(H.read(child.memory .. '/refund.md'), 'pinned: true')
  child.wait([[vim.iter(vim.api.nvim_buf_get_lines(0, 0, -1, false)):any(function(l) return l == 'pinned: true' end)]])
  child.cmd('Memls! pin')
  child.note('is pinned no longer')
end

-- The plan as the server would make it, without one: files that cannot be shown side by side are shown as the diff itself.
T['a diff applies to its text or not at all'] = function()
  local child = H.editor()
  local apply = function(base, diff)
    return child.lua_get(
      [[(function(base, diff)
        local patch = require('memls.patch')
        local text = patch.apply(patch.text(base), diff)
        return text and patch.join(text) or vim.NIL
      end)(...)]],
      { base, diff }
    )
  end
  eq(apply('a\nb\nc\n', '--- x\n+++ y\n@@ -1,3 +1,2 @@\n a\n-b\n c\n'), 'a\nc\n')
  eq(apply('a\nb\nc', '--- x\n+++ y\n@@ -2,2 +2,2 @@\n b\n-c\n\\ No newline at end of file\n+d\n'), 'a\nb\nd\n')
  eq(apply('a\n', '--- x\n+++ y\n@@ -1 +1,2 @@\n a\n+b\n\\ No newline at end of file\n'), 'a\nb')
  eq(apply('', '--- x\n+++ y\n@@ -0,0 +1,2 @@\n+a\n+b\n'), 'a\nb\n')
  eq(apply('a\nb\n', '--- x\n+++ y\n@@ -1,0 +2 @@\n+x\n'), 'a\nx\nb\n')
  eq(apply('a\nb\nc\nd\ne\n', '--- x\n+++ y\n@@ -1,2 +1 @@\n-a\n b\n@@ -4,2 +3,3 @@\n d\n+x\n e\n'), 'b\nc\nd\nx\ne\n')
  eq(apply('a\nB\nc\n', '--- x\n+++ y\n@@ -1,3 +1,2 @@\n a\n-b\n c\n'), vim.NIL)
end

T['a file with other line ends is shown as a diff and changed all the same'] = function()
  local text = (H.notes['refund.md']:gsub('\n', '\r\n'))
  local child = H.editor({ notes = { ['refund.md'] = text } })
  child.choose(1)
  child.cmd('edit .memory/refund.md')
  child.type_keys('/Nordhavn<CR>')
  child.cmd('Memls forget')
  child.shows('as it would be')
  has(child.buffer('memls://after/'), '-- Nordhavn never refunds')
  child.type_keys('a')
  child.note('changed project:refund.md')
  eq(H.read(child.memory .. '/refund.md'), (text:gsub('%- Nordhavn never refunds.\r\n', '')))
end

return T
