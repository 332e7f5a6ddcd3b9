-- What fzf-lua does with the functions that the adapter hands to it, as far as its documentation says: `fzf_live` calls `contents` with the
-- query for each change of it, the function that this returns gets one that takes a line, or nothing at the end.
local M = {}

function M.fzf_live(contents, opts)
  M.opts, M.lines = opts, {}
  function M.type(query)
    M.lines, M.ended = {}, false
    local lines = M.lines
    contents({ query })(function(line)
      if line == nil then
        M.ended = M.lines == lines
      else
        table.insert(lines, line)
      end
    end)
  end
  M.type(opts.query or '')
end

return M
