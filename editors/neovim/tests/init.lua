-- nvim --headless --clean -u tests/init.lua: all cases, or those of MEMLS_TEST_FILES. Exits with 1 when one fails.
vim.opt.rtp:append(vim.env.MEMLS_MINI_TEST)
package.path = vim.fn.getcwd() .. '/tests/?.lua;' .. package.path
local MiniTest = require('mini.test')
_G.MiniTest = MiniTest
-- The reporter of mini.test, with a closing line that says what was proved and where, and how long the slowest cases took.
local reporter = MiniTest.gen_reporter.stdout({ group_depth = 1, quit_on_finish = false })
local began, took = {}, {}
local function finish()
  reporter.finish()
  local failed, passed, skipped = 0, 0, 0
  for i, case in ipairs(MiniTest.current.all_cases) do
    local state = case.exec and case.exec.state or 'Fail'
    if state:match('^Fail') then
      failed = failed + 1
    elseif vim.iter(case.exec.notes):any(function(note)
      return note:match('^skipped: ') ~= nil
    end) then
      skipped = skipped + 1
    else
      passed = passed + 1
    end
    table.insert(took, { ((case.finished or began[i]) - began[i]) / 1e6, table.concat(case.desc, ': ') })
  end
  table.sort(took, function(a, b)
    return a[1] > b[1]
  end)
  for i = 1, math.min(vim.env.MEMLS_TEST_SLOWEST or 0, #took) do
    io.stdout:write(('\n%6d ms  %s'):format(took[i][1], took[i][2]))
  end
  local version = vim.version()
  io.stdout:write(
    ('\nNeovim %d.%d.%d: %d passed, %d failed, %d of another version\n'):format(
      version.major,
      version.minor,
      version.patch,
      passed,
      failed,
      skipped
    )
  )
  io.stdout:flush()
  vim.cmd(failed > 0 and 'cquit 1' or 'qall!')
end

MiniTest.setup({
  collect = {
    emulate_busted = false,
    find_files = function()
      return vim.fn.globpath('tests', vim.env.MEMLS_TEST_FILES or 'test_*.lua', true, true)
    end,
  },
  execute = {
    reporter = {
      start = reporter.start,
      update = function(number)
        local case = MiniTest.current.all_cases[number]
        began[number] = began[number] or vim.uv.hrtime()
        if case.exec and case.exec.state:match('^[PF]') then
          case.finished = vim.uv.hrtime()
        end
        reporter.update(number)
      end,
      finish = finish,
    },
  },
})
MiniTest.run()
