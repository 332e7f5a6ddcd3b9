-- What snacks.picker does with a live source, as far as its documentation says: the finder is called for each change of the query with the
-- options and a context, in a task that can be suspended and resumed; it answers a function that gets one which takes an item.
local M = { picker = {} }

function M.picker.pick(opts)
  M.opts = opts
  function M.type(query)
    M.items, M.ended = {}, false
    local items, co = M.items, nil
    local async = {}
    function async:suspend()
      coroutine.yield()
    end
    function async:resume()
      assert(coroutine.resume(co))
    end
    co = coroutine.create(function()
      opts.finder(opts, { filter = { search = query }, async = async })(function(item)
        table.insert(items, item)
      end)
      M.ended = M.items == items
    end)
    assert(coroutine.resume(co))
  end
  M.type(opts.search or '')
end

return M
