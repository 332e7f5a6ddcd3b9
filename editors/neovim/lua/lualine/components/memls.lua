-- A component of lualine: sections = { lualine_x = { 'memls' } }.
local component = require('lualine.component'):extend()

function component:init(options)
  component.super.init(self, options)
  self.options.cond = self.options.cond or function()
    return package.loaded['memls.status'] ~= nil
  end
end

function component:update_status()
  local status = package.loaded['memls.status']
  return status and (status.text():gsub('%%', '%%%%')) or ''
end

return component
