import { createHash } from 'node:crypto';

// The Lua is kept in a TypeScript module rather than a file of its own, so that bundlers include it.

/**
 * The number of the record's format. It is part of the name of every record, so two versions of
 * this package that run side by side never read each other's records.
 */
export const RECORD_FORMAT = 2;

/** The script returns this number instead of the end of a ban if the request passes. */
export const PASSES = -1;

/**
 * Lua that sets `takens` and `ats` to the present state of each window's bucket, as `settle` in
 * token-bucket.ts does, and `places` to the place of the bucket in the record. `{ nil, nil }`
 * reserves room for two values, because growing a table takes longer.
 */
const SETTLE_WINDOWS = /* lua */ `
local takens, ats, places, isOver = { nil, nil }, { nil, nil }, { nil, nil }, false
for i = 1, count do
  local id, quota, ms, kind = plan[4 * i - 3], plan[4 * i - 2], plan[4 * i - 1], plan[4 * i]
  local place, unit = 2, 1
  while record[place] and record[place] ~= id do place = place + 3 end
  local taken, at = record[place + 1] or 0, record[place + 2] or 0
  if kind == 'continuous' then
    local elapsed = math.max(0, now - at)
    taken, at, unit = math.max(0, math.min(taken, quota * ms) - elapsed * quota), now, ms
  elseif at <= now then
    taken, at = 0, now + ms
    if kind == 'utc' then at = at - math.fmod(now + offset, ms) end
  elseif at > now + ms then
    at = now + ms
  end
  if taken + cost * unit > quota * unit then isOver = true end
  takens[i], ats[i], places[i] = taken, at, place
end
`;

/** Lua that sets `passes` (whether the request is allowed) and `ban` (the next ban state). */
const SETTLE_BAN = /* lua */ `
local isTake = mode ~= 'ban' and mode ~= 'unban'
local passes, ban = isTake and not isOver, record[1] or false
if ban or not passes then
  local policy = cjson.decode(ARGV[2])
  ban = ban or { refusedAt = 0, forgiven = 0, banEnd = 0, banMs = 0, level = 0, forgetAt = 0, strikes = {} }

  local function endStreak()
    ban.refusedAt, ban.forgiven, ban.strikes = 0, 0, {}
  end

  if isTake then
    local counting = {}
    for _, at in ipairs(ban.strikes) do
      at = math.min(at, now)
      if not policy or now - at < policy.withinMs then table.insert(counting, at) end
    end
    ban.refusedAt, ban.strikes = math.min(ban.refusedAt, now), counting
    local isRunning = ban.banEnd > now
    ban.banEnd = isRunning and math.min(ban.banEnd, now + ban.banMs) or 0
    if ban.forgetAt <= now then
      ban.level, ban.forgetAt = 0, 0
    elseif policy then
      ban.forgetAt = math.min(ban.forgetAt, now + policy.maxMs + policy.forgetMs)
    end

    passes = passes and not isRunning
    if cost == 0 or isRunning then
      -- Nothing counts.
    elseif passes then
      endStreak()
    elseif policy then
      local smallest = math.huge
      for i = 1, count do smallest = math.min(smallest, plan[4 * i - 2]) end
      local mostForgiven = math.max(smallest, 10 * policy.after)
      if ban.refusedAt == 0 then
        ban.refusedAt = now
      elseif now - ban.refusedAt <= policy.graceMs and ban.forgiven < mostForgiven then
        ban.forgiven = ban.forgiven + 1
      elseif #ban.strikes + 1 < policy.after then
        table.insert(ban.strikes, now)
      else
        endStreak()
        ban.banMs = math.min(policy.maxMs, policy.baseMs * policy.factor ^ ban.level)
        ban.banEnd = now + ban.banMs
        ban.level, ban.forgetAt = ban.level + 1, ban.banEnd + policy.forgetMs
      end
    end
  elseif mode == 'ban' then
    endStreak()
    ban.banEnd, ban.banMs = now + cost, cost
  else
    ban.refusedAt, ban.banEnd, ban.level = 0, 0, 0
  end
  if ban.refusedAt == 0 and ban.banEnd == 0 and ban.level == 0 then ban = false end
end
`;

/**
 * Lua that sets `changed` (the next record), `expiresAt` (when the record no longer has an effect)
 * and `reply`, which the script returns. A refused request changes a window only if the clock has
 * stepped back: the window then ends earlier.
 */
const CHANGE_WINDOWS = /* lua */ `
local changed, expiresAt = { ban, nil, nil, nil, nil, nil, nil }, ban and math.max(ban.banEnd, ban.forgetAt) or 0
local reply = { now, passes and ${PASSES} or ban and ban.banEnd or 0, nil, nil, nil, nil }
local last = 1

local function keep(id, taken, at, fullAt)
  if taken == 0 or isTake and fullAt <= now then return end
  changed[last + 1], changed[last + 2], changed[last + 3] = id, taken, at
  last = last + 3
  if fullAt > expiresAt then expiresAt = fullAt end
end

for i = 1, count do
  local taken, at, place, unit, length = takens[i], ats[i], places[i], 1, 0
  if plan[4 * i] == 'continuous' then unit, length = plan[4 * i - 1], plan[4 * i - 1] end
  if passes then taken = taken + cost * unit end
  reply[2 * i + 1], reply[2 * i + 2] = taken, at - now
  if not passes or cost == 0 then
    local found, foundAt = record[place + 1] or 0, record[place + 2] or 0
    if at >= foundAt then taken, at = found, foundAt end
  end
  keep(plan[4 * i - 3], taken, at, at + length)
  if record[place] then record[place] = false end
end
for place = 2, #record, 3 do
  local id, at = record[place], record[place + 2]
  if id then keep(id, record[place + 1], at, at + (string.match(id, ' (%d+) continuous$') or 0)) end
end
`;

/**
 * Lua that stores the next record. It expires when its buckets are full and its bans forgotten. A
 * probe also writes a record that is not needed, and removes it.
 */
const WRITE_RECORD = /* lua */ `
if mode == 'peek' then return reply end
local isNeeded = (last > 1 or ban) and (expiresAt > now or clock)
if isNeeded or mode == 'probe' then
  local value = cmsgpack.pack(changed)
  if clock then
    redis.call('SET', key, value)
  else
    redis.call('PSETEX', key, string.format('%d', math.max(1, expiresAt - now)), value)
  end
end
if not isNeeded and (stored or mode == 'probe') then redis.call('DEL', key) end
return reply
`;

/**
 * The Lua script that decides on a request in one atomic step of the server, as rule.ts,
 * token-bucket.ts and ban.ts do.
 *
 * | argument | meaning                                                                              |
 * |----------|--------------------------------------------------------------------------------------|
 * | KEYS[1]  | the name of the key's record                                                         |
 * | ARGV[1]  | JSON: for each window its bucket's name, `quota`, `windowMs`, and its kind:          |
 * |          | `interval`, `utc` or `continuous`                                                    |
 * | ARGV[2]  | JSON: the ban policy, or false                                                       |
 * | ARGV[3]  | the cost of the request; with `ban`, the length of the ban. Default: 1               |
 * | ARGV[4]  | `take` (the default), `peek`, `ban`, `unban` or `probe`                              |
 * | ARGV[5]  | the time and the offset to UTC. Default: the server's clock                          |
 *
 * The arguments are few and short, because each costs the server and the client about 0.3 µs.
 *
 * The reply is a list of integers. The first is the time. The second is -1 if the request passes,
 * otherwise the end of the ban, or 0 without a ban. Then each window has two: the `taken` of its
 * bucket after the request, and the milliseconds until the `atMs` of that bucket.
 *
 * A record is one value in MessagePack, which Redis packs and unpacks itself:
 *
 *     { ban state or false, then for each bucket: its name, taken, at }
 *
 * The name of a bucket consists of the name, the length and the refill of its window, such as
 * `minute 60000 interval`. To read a record with redis-cli:
 *
 *     EVAL "return cjson.encode(cmsgpack.unpack(redis.call('GET', KEYS[1])))" 1 <name>
 *
 * The script runs on Redis 5 or newer and on Valkey. It needs no script flags and no Redis
 * functions. It can read the server's clock, because these servers replicate the effects of a
 * script, not the script. It never concatenates a number, because Lua would format only 14 digits.
 */
export const SCRIPT = `
local key, plan, cost, mode, clock = KEYS[1], cjson.decode(ARGV[1]), tonumber(ARGV[3] or 1), ARGV[4] or 'take', ARGV[5]
local count, now, offset = #plan / 4, nil, 0
if clock then
  now, offset = string.match(clock, '^(%S+) (%S+)$')
  now, offset = tonumber(now), tonumber(offset)
else
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local function run(isWithoutRecord)
local stored = not isWithoutRecord and redis.call('GET', key)
local record = stored and cmsgpack.unpack(stored) or { false }
${SETTLE_WINDOWS}${SETTLE_BAN}${CHANGE_WINDOWS}${WRITE_RECORD}
end

-- A value that is not a record raises an error, and counts as none. If the server cannot write, the
-- second run raises its error.
local isRecord, reply = pcall(run)
return isRecord and reply or run(true)`;

export const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');
