-- Makes the redeemed ticket valid again until its original expiry.
-- args holdId closedMs
-- include guard holds

local n, refused, epoch = guard('settle')
if refused then return refused end
if redis.call('EXISTS', done_key(ARGV[5])) == 1 then return {n} end
local h = release(ARGV[5])
if h and h.ticket ~= '-' then
  local used_by, generation = string.match(redis.call('GET', ticket_key(h.ticket)) or '', '^used:(%S+) ([%d.]+)$')
  if used_by == ARGV[5] then
    redis.call('SET', ticket_key(h.ticket), epoch .. ' ' .. h.wallet .. ' ' .. h.key .. ' ' .. generation, 'KEEPTTL')
  end
end
redis.call('SET', done_key(ARGV[5]), 'cancelled', 'PX', ARGV[6])
return {count()}
