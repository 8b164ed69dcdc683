-- Does the steps of several requests in one call. ARGV: one value for all, then for each shard in the order of KEYS:
-- client, epoch, acked, lease until, number of requests, and `width` values for each request. `handle` gets the place
-- of a request's values, the client, and what `guard` found; it returns a reply and whether it changed something.
-- Each change counts as one step. Returns for each shard the number of the caller's steps, how many of them are new,
-- and the replies, or its refusal. A refused shard or request does not affect the others, and neither does one that
-- fails on a damaged record: its reply is `error` and the message. It may have changed something before, so it
-- counts, except that joining is no step.
-- include guard

local function message_of(failure) return type(failure) == 'table' and failure.err or tostring(failure) end
local function each_request(kind, width, handle, find_refusal)
  local found, at = {}, 2
  for i = 1, #KEYS do
    enter(KEYS[i])
    local client, requests = ARGV[at], tonumber(ARGV[at + 4])
    local is_read, n, reply, epoch, open, is_in = pcall(guard, kind, at)
    if is_read and not reply and find_refusal then is_read, reply = pcall(find_refusal, at, epoch, is_in) end
    if not is_read then
      reply = {'error', message_of(reply or n)}
    elseif not reply then
      local steps, failures = 0, 0
      reply = {n, 0}
      for r = 1, requests do
        local is_done, answer, is_step = pcall(handle, at + 5 + (r - 1) * width, client, epoch, open, is_in)
        if not is_done then
          answer, failure = {'error', message_of(answer)}, nil
          if kind ~= 'join' then failures = failures + 1 end
        elseif is_step then
          steps = steps + 1
        end
        reply[r + 2] = answer
      end
      -- A Redis that is out of memory refuses this write if it refused those of all requests.
      local count = steps > 0 and redis.call or redis.pcall
      if steps + failures > 0 then
        local counted = count('HINCRBY', CLIENTS, client .. ' n', steps + failures)
        if type(counted) == 'number' then reply[1], reply[2] = counted, steps + failures end
      end
    end
    found[i] = reply
    at = at + 5 + requests * width
  end
  return found
end
