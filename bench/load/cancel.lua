-- Cancels one order after the other: `-- FIRST_ID`.
local id, before, after

function init(args)
  id = tonumber(args[1])
  before, after = wrk.format("DELETE", "/v1/store/orders/@"):match("^(.*)@(.*)$")
end

function request()
  id = id + 1
  return before .. (id - 1) .. after
end
