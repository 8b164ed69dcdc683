-- Checks whether the caller, who stands in ARGV from `at`, may take this step. For 'join', it also tells if the epoch
-- is open (1 or 0) and if the caller is in it. Only reads, unless it ends an epoch because the shard has lost data:
-- an epoch older than the caller's, or one that forgot answered steps. Kinds: 'admit' and 'settle' need an open
-- epoch, 'project' any.
-- include names

local function guard(kind, at)
  at = at or 1
  local client = ARGV[at]
  local e = redis.call('HMGET', EPOCH, 'id', 'open')
  if not e[1] then return nil, {'refused', 'not_ready', 0} end
  local mine, theirs = tonumber(ARGV[at + 1]), tonumber(e[1])
  if mine < theirs then return nil, {'refused', 'new_epoch', theirs} end
  if mine > theirs then
    redis.call('DEL', EPOCH)
    return nil, {'refused', 'rolled_back', theirs}
  end
  local c = redis.call('HMGET', CLIENTS, client .. ' n', client .. ' lapsed')
  if c[2] then return nil, {'refused', 'lapsed', theirs} end
  if tonumber(c[1] or 0) < tonumber(ARGV[at + 2]) then
    redis.call('DEL', EPOCH)
    return nil, {'refused', 'rolled_back', theirs}
  end
  if kind == 'join' then return tonumber(c[1] or 0), nil, e[1], e[2] == '1' and 1 or 0, c[1] end
  if not c[1] then return nil, {'refused', 'not_joined', theirs} end
  if kind ~= 'project' and e[2] ~= '1' then return nil, {'refused', 'not_open', theirs} end
  return tonumber(c[1]), nil, e[1]
end
local function count() return -redis.call('HINCRBY', CLIENTS, ARGV[1] .. ' n', 1) end
