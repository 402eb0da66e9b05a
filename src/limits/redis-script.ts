import { createHash } from 'node:crypto';

/**
 * The rule of rule.ts, token-bucket.ts and ban.ts once more, as one atomic step of the server. It answers the state that
 * it found, and `decide` makes the decision from that, so that only what is remembered is worked out twice.
 *
 * A hash per key: for each bucket `name windowMs refill` → `taken` and the same with ` at` → `atMs`, and `conduct` → its
 * numbers. All of them are integers below 2^53, exact as Lua's doubles and as the server prints them in a command; Lua's
 * own concatenation would print 14 digits, so nothing is concatenated.
 *
 * ARGV: mode, cost (ms of a ban), latest instant to act at, ban policy (empty: none) and whether refusals count, what is
 * rarely given (empty, or reported strikes, the end of their count, how many do not ban yet, and unless the server's clock
 * rules now and the offset to UTC), then for each window its field, quota (negative: refilled continuously), windowMs
 * (negative: aligned to UTC), and unless tokens are taken or peeked at two more: `charge` has what was taken elsewhere and
 * in how many ms that window ends, `refund` what to put back and the window's end as it was announced.
 *
 * Answers now, taken and at of each window, when the first other bucket is full, and the conduct if there is one.
 * Runs on Redis from 5 on and on Valkey: no flags, no functions, effects are what is replicated.
 */
export const SCRIPT = `
local key, mode, cost = KEYS[1], ARGV[1], tonumber(ARGV[2])
local call, min, max, tonumber = redis.call, math.min, math.max, tonumber

local function numbers(text)
  local list = {}
  for word in string.gmatch(text, '%S+') do list[#list + 1] = tonumber(word) end
  return list
end

local strikes, strikesEnd, most, now, offset
if ARGV[5] ~= '' then strikes, strikesEnd, most, now, offset = unpack(numbers(ARGV[5])) end
local isServerTime = now == nil
if isServerTime then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  if now > tonumber(ARGV[3]) then return { now } end
end

-- What is made use of is withdrawn from what is stored; mostly that is all of it, in the order of the windows.
local stored, first = call('HGETALL', key), 1
local function withdraw(field)
  for i = first, #stored, 2 do
    if stored[i] == field then
      stored[i] = false
      return stored[i + 1]
    end
  end
end

local isTake = mode == 'take' or mode == 'peek'
local step = isTake and 3 or 5
local answer, takens, ats, lengths, isOver = { now, 0, 0, 0, 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, false
local n = 0
for i = 6, #ARGV, step do
  local field, quota, ms, taken, at = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), nil, nil
  if stored[first] == field and stored[first + 2] == field .. ' at' then
    taken, at, first = tonumber(stored[first + 1]), tonumber(stored[first + 3]), first + 4
  else
    taken, at = tonumber(withdraw(field) or 0), tonumber(withdraw(field .. ' at') or 0)
  end
  n = n + 1
  answer[2 * n], answer[2 * n + 1], lengths[n] = taken, at, 0
  local need = cost
  if quota < 0 then
    lengths[n] = ms
    quota, need = -quota * ms, cost * ms
    taken = max(0, min(taken, quota) + min(max(0, now - at), ms) * tonumber(ARGV[i + 1]))
    at = now
  else
    local length = ms < 0 and -ms or ms
    if taken == 0 or at <= now then
      taken, at = 0, now + length
      if ms < 0 then at = at - math.fmod(now + (offset or 0), length) end
    elseif at > now + length then
      at = now + length
    end
  end
  if taken + need > quota then isOver = true end
  takens[n], ats[n] = taken, at
end

local before, after, soonest = 0, 0, 0
local conduct, found, c, ban, counts = withdraw('conduct'), nil, nil, nil, false
if ARGV[4] ~= '' and (conduct or isOver) then
  local b = numbers(ARGV[4])
  ban = { after = b[1], within = b[2], grace = b[3], base = b[4], factor = b[5], most = b[6], forget = b[7] }
  counts = b[8] == 1
end
if conduct then
  found = numbers(conduct)
  c = { refusedAt = found[1], strikes = found[2], strikesEnd = found[3], banEnd = found[4], banMs = found[5],
    level = found[6], forgetAt = found[7] }
  before = max(c.banEnd, c.forgetAt)
  if strikes and c.strikes > 0 and c.strikesEnd == strikesEnd then
    c.strikes = max(c.strikes, min(c.strikes + strikes, most))
    found[2] = c.strikes
  end
end

local passes = false
if isTake then
  local isBanned = false
  if c then
    c.refusedAt = min(c.refusedAt, now)
    if c.strikesEnd <= now then
      c.strikes, c.strikesEnd = 0, 0
    elseif ban then
      c.strikesEnd = min(c.strikesEnd, now + ban.within)
    end
    if c.banEnd <= now then
      c.banEnd, c.banMs = 0, 0
    else
      c.banEnd = min(c.banEnd, now + c.banMs)
    end
    if c.forgetAt <= now then
      c.level, c.forgetAt = 0, 0
    elseif ban then
      c.forgetAt = min(c.forgetAt, now + ban.most + ban.forget)
    end
    isBanned = c.banEnd > 0
  end
  passes = not isOver and not isBanned
  if cost > 0 and passes and c then
    c.refusedAt, c.strikes, c.strikesEnd = 0, 0, 0
  elseif cost > 0 and not passes and not isBanned then
    if counts then
      c = c or { refusedAt = 0, strikes = 0, strikesEnd = 0, banEnd = 0, banMs = 0, level = 0, forgetAt = 0 }
      if c.refusedAt == 0 then
        c.refusedAt = now
      elseif now - c.refusedAt > ban.grace then
        if c.strikes == 0 then c.strikesEnd = now + ban.within end
        c.strikes = c.strikes + 1
        if c.strikes >= ban.after then
          c.banMs = min(ban.most, ban.base * ban.factor ^ c.level)
          c.refusedAt, c.strikes, c.strikesEnd, c.banEnd = 0, 0, 0, now + c.banMs
          c.level, c.forgetAt = c.level + 1, c.banEnd + ban.forget
        end
      end
    end
  end
elseif mode == 'ban' then
  c = c or { level = 0, forgetAt = 0 }
  c.refusedAt, c.strikes, c.strikesEnd, c.banEnd, c.banMs = 0, 0, 0, now + cost, cost
end

local sets, drops = {}, {}
local function put(list, a, b)
  list[#list + 1] = a
  list[#list + 1] = b
end
local function keep(field, till)
  if till > before then before = till end
  if isTake and till <= now then put(drops, field, field .. ' at') elseif till > after then after = till end
end
n = 0
for i = 6, #ARGV, step do
  n = n + 1
  local field, taken, at, storedAt, length = ARGV[i], takens[n], ats[n], answer[2 * n + 1], lengths[n]
  local isStored, isChanged, unit = storedAt ~= 0, false, length > 0 and length or 1
  if passes and cost > 0 then
    isChanged, taken = true, taken + cost * unit
  elseif isTake then
    isChanged = isStored and at < storedAt and taken > 0
  elseif mode == 'charge' then
    local more = tonumber(ARGV[i + 3])
    if taken == 0 and length == 0 then at = min(at, now + tonumber(ARGV[i + 4])) end
    isChanged, taken = more > 0, taken + more
  elseif mode == 'refund' then
    local resetAt = tonumber(ARGV[i + 4])
    isChanged = isStored and resetAt > now and (length > 0 or storedAt == resetAt)
    taken = taken - tonumber(ARGV[i + 3]) * unit
  end
  if not isChanged then
    if isStored then keep(field, storedAt + length) end
  else
    if isStored and storedAt + length > before then before = storedAt + length end
    if taken > 0 then
      put(sets, field, taken)
      if at ~= storedAt then put(sets, field .. ' at', at) end
      if at + length > after then after = at + length end
    else
      put(drops, field, field .. ' at')
    end
  end
end
for i = first, #stored, 2 do
  local field, ms, refill = string.match(stored[i] or '', '^(%S+ (%d+) (%a+)) at$')
  if field then
    local till = tonumber(stored[i + 1])
    if refill == 'continuous' then till = till + tonumber(ms) end
    keep(field, till)
    if soonest == 0 or till < soonest then soonest = till end
  end
end

if c then
  if c.refusedAt == 0 and c.strikes == 0 and c.banEnd == 0 and c.level == 0 then
    if conduct then drops[#drops + 1] = 'conduct' end
  else
    after = max(after, c.banEnd, c.forgetAt)
    local text = string.format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f',
      c.refusedAt, c.strikes, c.strikesEnd, c.banEnd, c.banMs, c.level, c.forgetAt)
    if text ~= conduct then put(sets, 'conduct', text) end
  end
end

if mode ~= 'peek' then
  if #sets > 0 then call('HSET', key, unpack(sets)) end
  if #drops > 0 then call('HDEL', key, unpack(drops)) end
  if isServerTime and after ~= before then call('PEXPIREAT', key, after) end
end
answer[2 * n + 2] = soonest
for i = 2 * n + 3, max(6, 2 * n + 9) do answer[i] = found and found[i - 2 * n - 2] or nil end
return answer
`;

export const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');

/** A write that leaves nothing behind: it fails where the script's would. */
export const PROBE = "redis.call('HSET', KEYS[1], 'probe', '1') return redis.call('HDEL', KEYS[1], 'probe')";

/** The hash as one text, because clients shape the answer of HGETALL in three ways. */
export const INSPECT = "return table.concat(redis.call('HGETALL', KEYS[1]), '|')";
