import { createHash } from 'node:crypto';
import { MAX_STRIKES } from '../plan.js';
import { CHECK, PARSE, READ_RECORD } from './record.js';

// The Lua is kept in TypeScript modules rather than separate files, so that bundlers include it.

/** Lua that sets `now` and `offset`. It ends the script if the call arrived after its deadline. */
const READ_CLOCK = /* lua */ `
local now, offset, isServerTime = nil, 0, clock == ''
if isServerTime then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
  now = now - now % 1
  if now > latest then return { now } end
else
  now, offset = string.match(clock, '^(%S+) (%S+)$')
  now, offset = tonumber(now), tonumber(offset)
end
`;

// A Lua table that is written as `{ nil, nil }` has room for two values. Growing an empty table
// would take longer than filling this one.

/**
 * Lua that sets `takens` and `ats` to the present state of each window's bucket, as `settle` in
 * token-bucket.ts does. It sets `lengths` to the time after `ats` at which the bucket is full at
 * the latest: the window's length with continuous refill, otherwise 0.
 */
const SETTLE_WINDOWS = /* lua */ `
local takens, ats, lengths, isOver, expiredAt = { nil, nil }, { nil, nil }, { nil, nil }, false, NEVER
for i = 1, count do
  local taken, at = struct.unpack('<dd', packed, 16 * i - 15)
  local quota, ms, kind = struct.unpack('<ddB', packed, 16 * count + 17 * i - 16)
  local unit, length = 1, 0
  if kind == CONTINUOUS then unit, length = ms, ms end
  if taken > 0 and at + length > expiredAt then expiredAt = at + length end
  if kind == CONTINUOUS then
    local elapsed = math.min(math.max(0, now - at), ms)
    taken, at = math.max(0, math.min(taken, quota * ms) - elapsed * quota), now
  elseif taken == 0 or at <= now then
    taken, at = 0, now + ms
    if kind == ALIGNED then at = at - math.fmod(now + offset, ms) end
  elseif at > now + ms then
    at = now + ms
  end
  if taken + cost * unit > quota * unit then isOver = true end
  takens[i], ats[i], lengths[i] = taken, at, length
end
`;

/**
 * Lua that sets `passes` (whether the request is allowed) and `ban` (the new ban state), as ban.ts
 * does. It sets `found` to the ban state before the request, with the reported refusals added.
 */
const SETTLE_BAN = /* lua */ `
local isTake = mode == 'take' or mode == 'peek'
local passes, found, banText = isTake and not isOver, nil, nil
if ban or not passes then
  ${PARSE}
  local policy
  local numbers = wholeNumbers(string.match(plan, '|(.*)|'))
  if #numbers > 0 then
    policy = { after = numbers[1], within = numbers[2], grace = numbers[3], base = numbers[4],
      factor = numbers[5], max = numbers[6], forget = numbers[7], counts = numbers[8] == 1 }
  end

  if ban then
    local reported = wholeNumbers(report)
    if ban.refusedAt > 0 and reported[1] == ban.refusedAt then
      ban.forgiven = ban.forgiven + reported[2]
      for i = 3, #reported do table.insert(ban.strikes, reported[i]) end
      table.sort(ban.strikes)
      while #ban.strikes > ${MAX_STRIKES} do table.remove(ban.strikes, 1) end
    end
    found = numbersOf(ban)
  end
  ban = ban or { refusedAt = 0, forgiven = 0, banEnd = 0, banMs = 0, level = 0, forgetAt = 0, strikes = {} }

  local function endStreak()
    ban.refusedAt, ban.forgiven, ban.strikes = 0, 0, {}
  end

  if isTake then
    local counting = {}
    for _, at in ipairs(ban.strikes) do
      at = math.min(at, now)
      if not policy or now - at < policy.within then table.insert(counting, at) end
    end
    ban.refusedAt, ban.strikes = math.min(ban.refusedAt, now), counting
    local isRunning = ban.banEnd > now
    ban.banEnd = isRunning and math.min(ban.banEnd, now + ban.banMs) or 0
    ban.banMs = isRunning and ban.banMs or 0
    if ban.forgetAt <= now then
      ban.level, ban.forgetAt = 0, 0
    elseif policy then
      ban.forgetAt = math.min(ban.forgetAt, now + policy.max + policy.forget)
    end

    passes = passes and not isRunning
    if cost == 0 or isRunning then
      -- Nothing counts.
    elseif passes then
      endStreak()
    elseif policy and policy.counts then
      local smallest = math.huge
      for i = 1, count do smallest = math.min(smallest, (struct.unpack('<d', packed, 16 * count + 17 * i - 16))) end
      local mostForgiven = math.max(smallest, 10 * policy.after)
      if ban.refusedAt == 0 then
        ban.refusedAt = now
      elseif now - ban.refusedAt <= policy.grace and ban.forgiven < mostForgiven then
        ban.forgiven = ban.forgiven + 1
      elseif #ban.strikes + 1 < policy.after then
        table.insert(ban.strikes, now)
      else
        endStreak()
        ban.banMs = math.min(policy.max, policy.base * policy.factor ^ ban.level)
        ban.banEnd = now + ban.banMs
        ban.level, ban.forgetAt = ban.level + 1, ban.banEnd + policy.forget
      end
    end
  elseif mode == 'ban' then
    endStreak()
    ban.banEnd, ban.banMs = now + cost, cost
  elseif mode == 'carry_ban' then
    endStreak()
    if now + cost > ban.banEnd then ban.banEnd, ban.banMs = now + cost, tonumber(ARGV[7]) end
    if ban.forgetAt <= now then ban.level = 0 end
    ban.level = math.max(ban.level, tonumber(ARGV[8]))
    ban.forgetAt = math.max(ban.forgetAt, now + tonumber(ARGV[9]))
  elseif mode == 'unban' then
    ban.refusedAt, ban.banEnd, ban.level = 0, 0, 0
  end
  if ban.refusedAt == 0 and ban.banEnd == 0 and ban.level == 0 then
    ban = nil
  else
    banText = textOf(ban)
  end
end
`;

/**
 * Lua that sets `states` (the bytes to store for the windows) and `answer` (the script's reply). A
 * refused request changes a window only if the clock has stepped back: the window then ends
 * earlier.
 */
const CHANGE_WINDOWS = /* lua */ `
local isCharged = passes and cost > 0
local states, answer, expiresAt = '', { now, nil, nil, nil, nil }, NEVER
for i = 1, count do
  local taken, at, length = takens[i], ats[i], lengths[i]
  local unit = length > 0 and length or 1
  if isCharged then
    taken = taken + cost * unit
    answer[2 * i], answer[2 * i + 1] = taken, at - now
  else
    local foundTaken, foundAt = struct.unpack('<dd', packed, 16 * i - 15)
    local isChanged = isTake and foundTaken > 0 and at < foundAt
    if passes then
      answer[2 * i], answer[2 * i + 1] = taken, at - now
    else
      answer[2 * i], answer[2 * i + 1] = foundTaken, foundAt
    end
    if mode == 'charge' then
      local more, endsIn = tonumber(ARGV[5 + 2 * i]), tonumber(ARGV[6 + 2 * i])
      if taken == 0 and length == 0 then at = math.min(at, now + endsIn) end
      isChanged, taken = more > 0, taken + more
    elseif mode == 'refund' then
      local less, resetAt = tonumber(ARGV[5 + 2 * i]), tonumber(ARGV[6 + 2 * i])
      isChanged = foundTaken > 0 and resetAt > now and (length > 0 or foundAt == resetAt)
      taken = taken - less * unit
    end
    if not isChanged then
      taken, at = foundTaken, foundAt
      if isTake and at + length <= now then taken = 0 end
    end
    if taken <= 0 then taken, at = 0, 0 end
  end
  if taken > 0 and at + length > expiresAt then expiresAt = at + length end
  states = states .. struct.pack('<dd', taken, at)
end
`;

/**
 * Lua that stores the record. The record expires when its buckets are full and its bans are
 * forgotten.
 */
const WRITE_RECORD = /* lua */ `
local soonest, rest = 0, ''
if ban or others then
  local otherTexts = {}
  for _, bucket in ipairs(others or {}) do
    local ms, refill = string.match(bucket.id, ' (%d+) (%a+)$')
    local fullAt = bucket.at + (refill == 'continuous' and ms or 0)
    if soonest == 0 or fullAt < soonest then soonest = fullAt end
    if fullAt > now or not isTake then
      table.insert(otherTexts, string.format('%s %.0f %.0f;', bucket.id, bucket.taken, bucket.at))
      expiresAt = math.max(expiresAt, fullAt)
    end
  end
  if ban then expiresAt = math.max(expiresAt, ban.banEnd, ban.forgetAt) end
  if ban or #otherTexts > 0 then rest = '!' .. (banText or '') .. '!' .. table.concat(otherTexts) end
end

if mode == 'peek' then
  -- Nothing is changed.
elseif expiresAt == NEVER then
  if stored then redis.call('DEL', key) end
elseif isKnown and rest == '' and expiresAt == expiredAt then
  if isCharged or string.sub(stored, 1, #states) ~= states then redis.call('SETRANGE', key, 0, states) end
else
  local value = states .. string.sub(packed, 16 * count + 1, 33 * count) .. plan .. rest
  if value ~= stored then
    redis.call('SET', key, value)
    if isServerTime then redis.call('PEXPIREAT', key, expiresAt) end
  end
end

if not passes then
  table.insert(answer, soonest)
  for _, number in ipairs(found or {}) do table.insert(answer, number) end
end
return answer
`;

/**
 * The Lua script that decides on a request in one atomic step of the server, as rule.ts,
 * token-bucket.ts and ban.ts do. codec.ts documents the script's arguments and reply. If the script
 * refuses a request, it returns the state that it found, and `decide` computes the decision from
 * that.
 *
 * The script runs on Redis 5 or newer and on Valkey. It needs no script flags and no Redis
 * functions. It can read the server's clock, because these servers replicate the effects of a
 * script, not the script.
 */
export const SCRIPT = `
local key, latest, plan = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local cost, mode, clock, report = tonumber(ARGV[3] or 1), ARGV[4] or 'take', ARGV[5] or '', ARGV[6] or ''
local ALIGNED, CONTINUOUS, NEVER = 1, 2, -math.huge
${READ_CLOCK}${CHECK}${READ_RECORD}${SETTLE_WINDOWS}${SETTLE_BAN}${CHANGE_WINDOWS}${WRITE_RECORD}`;

export const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');

/**
 * Lua that fails if the server cannot write. It appends an empty text to a key, and deletes the key
 * if this creates it.
 */
export const PROBE = /* lua */ `
if redis.call('TYPE', KEYS[1]).ok ~= 'string' then redis.call('DEL', KEYS[1]) end
if redis.call('APPEND', KEYS[1], '') == 0 then redis.call('DEL', KEYS[1]) end
`;

/**
 * Lua that returns the record of a key as text: the ban state, `!`, then each bucket. The stored
 * record is binary.
 */
export const INSPECT = `${CHECK}${PARSE}
local stored = redis.pcall('GET', KEYS[1])
if type(stored) == 'table' and redis.call('TYPE', KEYS[1]).ok == 'string' then return stored end
local buckets, ban = nil, nil
if type(stored) == 'string' then buckets, ban = parse(stored) end
local texts = {}
for i, bucket in ipairs(buckets or {}) do
  texts[i] = string.format('%s %.0f %.0f;', bucket.id, bucket.taken, bucket.at)
end
return (ban and textOf(ban) or '') .. '!' .. table.concat(texts)
`;
