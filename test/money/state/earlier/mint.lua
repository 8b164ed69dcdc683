
local P = string.sub(KEYS[1], 1, -6)
local HOLDS, NOTES, CLIENTS = P .. 'holds', P .. 'notes', P .. 'clients'
local function wallet_key(id) return P .. 'wallet:' .. id end
local function key_key(hash) return P .. 'key:' .. hash end
local function done_key(id) return P .. 'done:' .. id end
local function reaped_key(id) return P .. 'reaped:' .. id end
local function rate_key(hash) return P .. 'rate:' .. hash end
local function ticket_key(hash) return P .. 'ticket:' .. hash end
local function now_ms(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function int(value) return string.format('%.0f', value) end

local function guard(kind)
  local e = redis.call('HMGET', KEYS[1], 'id', 'open')
  if not e[1] then return nil, {'refused', 'not_ready', 0} end
  local mine, theirs = tonumber(ARGV[2]), tonumber(e[1])
  if mine < theirs then return nil, {'refused', 'new_epoch', theirs} end
  if mine > theirs then
    redis.call('DEL', KEYS[1])
    return nil, {'refused', 'rolled_back', theirs}
  end
  local c = redis.call('HMGET', CLIENTS, ARGV[1] .. ' n', ARGV[1] .. ' lapsed')
  if c[2] then return nil, {'refused', 'lapsed', theirs} end
  if tonumber(c[1] or 0) < tonumber(ARGV[3]) then
    redis.call('DEL', KEYS[1])
    return nil, {'refused', 'rolled_back', theirs}
  end
  if kind == 'join' then return c[1], nil, e[2] == '1' end
  if not c[1] then return nil, {'refused', 'not_joined', theirs} end
  if kind ~= 'project' and e[2] ~= '1' then return nil, {'refused', 'not_open', theirs} end
  return tonumber(c[1]), nil, e[1]
end
local function count() return -redis.call('HINCRBY', CLIENTS, ARGV[1] .. ' n', 1) end

local n, refused, epoch = guard('admit')
if refused then return refused end
local w = redis.call('HMGET', wallet_key(ARGV[6]), 'funds', 'held', 'unbooked')
if not w[1] or redis.call('HGET', key_key(ARGV[7]), 'gen') ~= ARGV[10] then return {n, 'not_projected'} end
local available = tonumber(w[1]) - tonumber(w[2] or 0) - tonumber(w[3] or 0)
if available <= 0 and ARGV[9] ~= 'free' then return {n, 'insufficient', int(available)} end
redis.call('SET', ticket_key(ARGV[5]), epoch .. ' ' .. ARGV[6] .. ' ' .. ARGV[7], 'PX', ARGV[8], 'NX')
return {count(), 'minted'}
