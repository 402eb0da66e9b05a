// Tests `npm start`: starts the program, sends one request with the API key that the program
// prints, and stops the program.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

// npm passes a signal on to its shell only, and some shells do not pass it on to the program. So
// the signal is sent to the whole process group.
const npm = spawn('npm', ['start'], {
  detached: true,
  env: { ...process.env, PORT: '0' },
  stdio: ['ignore', 'pipe', 'pipe'],
});
// npm's `exit` comes before the program has ended. `close` comes later, because the program keeps
// the output open until it ends.
const ended = once(npm, 'close');
const late = setTimeout(() => process.kill(-npm.pid, 'SIGKILL'), 120_000);
const [url, apiKey] = await new Promise((resolve, reject) => {
  let printed = '';
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.pipe(process.stdout);
    stream.on('data', (piece) => {
      printed += piece;
      const found = [/"url":"([^"]+)"/, /\b(so_\w+)/].map((pattern) => pattern.exec(printed)?.[1]);
      if (!found.includes(undefined)) resolve(found);
    });
  }
  npm.once('exit', (code) => reject(new Error(`npm start exited with ${code}`)));
});
const response = await fetch(`${url}/store/orders`, { headers: { Authorization: `Bearer ${apiKey}` } });
assert.equal(response.status, 200);
assert.ok((await response.json()).length > 0);
process.kill(-npm.pid, 'SIGTERM');
await ended;
clearTimeout(late);
await assert.rejects(fetch(url), 'the program still responds after SIGTERM');
console.log(`npm start served ${url}, and exited at SIGTERM`);
