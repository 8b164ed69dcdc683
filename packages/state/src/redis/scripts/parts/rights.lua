-- Tickets and rate limits. `read_mark` returns the key of a ticket that can be redeemed in this epoch, and its
-- generation. A key's `w`, `r` and `t` are the last minute in which it was used, and its requests and tokens in that
-- minute. `read_rate` returns the present minute and its usage.
-- include names

local function read_mark(hash, epoch)
  local mark = redis.call('GET', ticket_key(hash)) or ''
  local of_epoch, key, generation = string.match(mark, '^(%d+) %S+ (%S+) ([%d.]+)$')
  if of_epoch ~= epoch then return nil end
  return key, generation
end
local function read_rate(now, w, r, t)
  local window = math.floor(now / 60000)
  if w and tonumber(w) == window then return window, tonumber(r), tonumber(t) end
  return window, 0, 0
end
local function rate_status(limit_requests, limit_tokens, now, window, requests, tokens)
  limit_requests, limit_tokens = tonumber(limit_requests or 0), limit_tokens or '0'
  return limit_requests, math.max(0, limit_requests - requests), limit_tokens, int(math.max(0, limit_tokens - tokens)), (window + 1) * 60000 - now
end
