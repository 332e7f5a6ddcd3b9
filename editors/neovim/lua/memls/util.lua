--- Small things that several modules need: text of others made harmless for a line, files, messages.
local M = {}

--- Says something to the person.
---@param text string
---@param level? integer of |vim.log.levels|
function M.notify(text, level)
  vim.schedule(function()
    vim.notify('memls: ' .. text, level or vim.log.levels.INFO, { title = 'memls' })
  end)
end

---@param err memls.Error
function M.complain(err)
  if err.kind ~= 'cancelled' then
    M.notify(err.message, err.kind == 'unsupported' and vim.log.levels.WARN or vim.log.levels.ERROR)
  end
end

-- Ranges of code points that nobody sees or that change how a line reads: they are shown by number.
local hidden = {
  { 0x80, 0x9f },
  { 0xad, 0xad },
  { 0x61c, 0x61c },
  { 0x200b, 0x200f },
  { 0x2028, 0x202e },
  { 0x2060, 0x206f },
  { 0xfeff, 0xfeff },
  { 0xfff9, 0xfffb },
  { 0xe0000, 0xe0fff },
}

local function code_point(char)
  return vim.fn.char2nr(char, 1)
end

--- One line of text as it can be shown: characters that steer a terminal or hide text are written out.
---@param text any
---@return string
function M.clean(text)
  if type(text) ~= 'string' then
    return ''
  end
  text = text:gsub('[%z\1-\31\127]', function(c)
    if c == '\n' or c == '\r' or c == '\t' then
      return ' '
    end
    return '^' .. string.char(bit.bxor(c:byte(), 64))
  end)
  return (
    text:gsub('[\194-\244][\128-\191]+', function(char)
      local code = code_point(char)
      for _, range in ipairs(hidden) do
        if code >= range[1] and code <= range[2] then
          return ('<U+%04X>'):format(code)
        end
      end
    end)
  )
end

--- The lines of a text, each clean.
---@param text string
---@return string[]
function M.lines(text)
  local lines = vim.split(text, '\r?\n')
  while #lines > 1 and lines[#lines] == '' do
    table.remove(lines)
  end
  return vim.tbl_map(M.clean, lines)
end

--- Cuts a line to so many cells, whatever the width of its characters.
---@param text string
---@param width integer
---@return string
function M.fit(text, width)
  if vim.fn.strdisplaywidth(text) <= width then
    return text
  end
  local low, high = 0, math.min(vim.fn.strchars(text), width)
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if vim.fn.strdisplaywidth(vim.fn.strcharpart(text, 0, middle, true)) <= width - 1 then
      low = middle
    else
      high = middle - 1
    end
  end
  return vim.fn.strcharpart(text, 0, low, true) .. '…'
end

---@param count integer
---@param one string
---@param many? string
---@return string
function M.count(count, one, many)
  return ('%d %s'):format(count, count == 1 and one or many or one .. 's')
end

---@param days integer
---@return string
function M.age(days)
  if days <= 0 then
    return 'today'
  elseif days < 60 then
    return M.count(days, 'day') .. ' ago'
  elseif days < 730 then
    return ('%d months ago'):format(math.floor(days / 30))
  end
  return ('%d years ago'):format(math.floor(days / 365))
end

--- The local time of an RFC 3339 time of UTC, for a person; the text itself when it is none.
---@param time string?
---@return string
function M.time(time)
  local y, mo, d, h, mi, s = (time or ''):match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  if not y then
    return M.clean(time)
  end
  local utc = os.time({
    year = tonumber(y) --[[@as integer]],
    month = tonumber(mo) --[[@as integer]],
    day = tonumber(d) --[[@as integer]],
    hour = tonumber(h),
    min = tonumber(mi),
    sec = tonumber(s),
    isdst = false,
  })
  local now = os.time()
  local offset = os.difftime(now, os.time(os.date('!*t', now) --[[@as osdateparam]]))
  return os.date('%Y-%m-%d %H:%M', utc + offset) --[[@as string]]
end

--- Reads a file without blocking. What is no text for Neovim comes as it is.
---@param path string
---@param callback fun(err: string?, data: string?)
function M.read(path, callback)
  local done = vim.schedule_wrap(callback)
  vim.uv.fs_open(path, 'r', 438, function(err, fd)
    if err or not fd then
      return done(err or 'cannot be opened')
    end
    vim.uv.fs_fstat(fd, function(stat_err, stat)
      local size = stat and stat.size or 0
      vim.uv.fs_read(fd, size, 0, function(read_err, data)
        vim.uv.fs_close(fd, function() end)
        done(stat_err or read_err, data)
      end)
    end)
  end)
end

---@param uri string
---@return string path
function M.path(uri)
  return vim.uri_to_fname(uri)
end

--- The file itself, whatever links or spellings lead to it; nil when there is none.
---@param path string
---@return string?
function M.real(path)
  return path ~= '' and vim.uv.fs_realpath(path) or nil
end

--- The loaded buffers that show a file, under whatever name they were opened.
---@param path string
---@return integer[]
function M.buffers_of(path)
  local real = M.real(path)
  local found = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) or ''
    if name ~= '' and (name == path or (real and M.real(name) == real)) then
      table.insert(found, buf)
    end
  end
  return found
end

--- Calls a function of somebody else; what it throws is told and goes no further.
---@param what string
---@param fn function
function M.protect(what, fn, ...)
  local ok, err = xpcall(fn, debug.traceback, ...)
  if not ok then
    M.notify(('%s failed: %s'):format(what, err), vim.log.levels.ERROR)
  end
end

--- Calls `start(resume)` and waits for `resume`, when it runs in a coroutine; nothing else blocks.
---@param start fun(resume: fun(...))
---@return any ...
function M.await(start)
  local co = coroutine.running()
  if not co then
    error('memls: without a callback this must be called in a coroutine', 3)
  end
  local results, waiting
  start(function(...)
    results = { n = select('#', ...), ... }
    if waiting then
      local ok, err = coroutine.resume(co)
      if not ok then
        M.notify(debug.traceback(co, err), vim.log.levels.ERROR)
      end
    end
  end)
  if not results then
    waiting = true
    coroutine.yield()
  end
  return unpack(results, 1, results.n)
end

return M
