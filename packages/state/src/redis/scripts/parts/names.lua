-- The names of a shard's keys. Some scripts act on one shard after the other; `enter` chooses it.

local EPOCH, P, HOLDS, NOTES, CLIENTS, LIMITS
local function enter(epoch_key)
  EPOCH, P = epoch_key, string.sub(epoch_key, 1, -6)
  HOLDS, NOTES, CLIENTS, LIMITS = P .. 'holds', P .. 'notes', P .. 'clients', P .. 'limits'
end
enter(KEYS[1])
local function wallet_key(id) return P .. 'wallet:' .. id end
local function key_key(hash) return P .. 'key:' .. hash end
local function workspace_key(id) return P .. 'workspace:' .. id end
local function done_key(id) return P .. 'done:' .. id end
local function reaped_key(id) return P .. 'reaped:' .. id end
local function ticket_key(hash) return P .. 'ticket:' .. hash end
local function now_ms(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
-- Unlike `redis.call`, `try` lets the rest of a step be done if the call fails. `raise` then fails the step.
local failure
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then failure = failure or reply.err end
  return reply
end
local function raise()
  local raised = failure
  failure = nil
  if raised then error({err = raised}) end
end
local function int(value) return string.format('%d', value) end
