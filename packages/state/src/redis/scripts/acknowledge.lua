-- Moves the watermark forward and trims the stream behind it.
-- args streamId
-- include guard spaceless

local n, refused = guard('project')
if refused then return refused end
local function parts(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(seq)
end
local ms, seq = parts(ARGV[5])
if not ms then return redis.error_reply('ERR no stream id') end
local current = redis.call('GET', P .. 'watermark')
if current then
  local cms, cseq = parts(current)
  if cms > ms or (cms == ms and cseq >= seq) then return {n} end
end
spaceless()
redis.call('SET', P .. 'watermark', ARGV[5])
redis.call('XTRIM', P .. 'stream', 'MINID', string.format('%.0f-%.0f', ms, seq + 1))
return {count()}
