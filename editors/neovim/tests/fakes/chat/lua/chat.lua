-- A chat plugin of our own, small but whole: a prompt buffer, a history, requests to a model that are built just before they are sent, tools,
-- and hooks as chat plugins have them. It knows nothing of memls; what connects the two stands in the tests as it stands in the documentation.
local M = {}

---@class Chat
---@field buf integer
---@field history { role: string, text: string }[]
---@field requests { role: string, text: string }[][] what was sent to the model
---@field script table[] what the model answers: `{ say = text }` or `{ call = tool }`
---@field on_before_submit? fun(chat: Chat): boolean? false keeps it from being sent
---@field on_before_tools? fun(chat: Chat, go: fun())
---@field on_done? fun(chat: Chat, outcome: string)
local Chat = {}
Chat.__index = Chat

function M.open(script)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].filetype = 'markdown'
  vim.api.nvim_set_current_buf(buf)
  return setmetatable({ buf = buf, history = {}, requests = {}, script = script }, Chat)
end

--- Adds a message that is context and not shown as the person's words.
function Chat:add_context(text)
  table.insert(self.history, { role = 'user', text = text, context = true })
end

function Chat:words()
  return vim.api.nvim_buf_get_lines(self.buf, -2, -1, false)[1]
end

--- Sends what stands in the last line.
function Chat:submit()
  if self.on_before_submit and self.on_before_submit(self) == false then
    return
  end
  table.insert(self.history, { role = 'user', text = self:words() })
  self:ask()
end

---@private
function Chat:ask()
  table.insert(self.requests, vim.deepcopy(self.history))
  local step = table.remove(self.script, 1)
  vim.schedule(function()
    if step.call then
      table.insert(self.history, { role = 'tool', text = step.call .. ': done' })
      if self.on_before_tools then
        return self.on_before_tools(self, function()
          self:ask()
        end)
      end
      return self:ask()
    end
    table.insert(self.history, { role = 'assistant', text = step.say })
    vim.api.nvim_buf_set_lines(self.buf, -1, -1, false, { '', step.say, '' })
    if self.on_done then
      self.on_done(self, 'end_turn')
    end
  end)
end

return M
