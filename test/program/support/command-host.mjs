import { readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { runProgram } from '../../../dist/program/commands/index.js';

// Runs commands of the program for `command-host.ts`, one after the other in one process. Each has a
// directory, an environment and streams of its own, as in a process of its own.

/** Makes the process have a stream under the name of one of its own. */
function replace(name, stream) {
  Object.defineProperty(process, name, { value: stream, configurable: true });
}

function collector() {
  const chunks = [];
  const stream = new Writable({
    write(chunk, _encoding, written) {
      chunks.push(chunk);
      written();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

/** Resolves when nothing is open that would keep a process of the command's own from ending. */
async function allClosed(openBefore) {
  while (process.getActiveResourcesInfo().length > openBefore) await setTimeout(1);
}

/** Reports whether this process has a file of the directory open. Only Linux tells. */
function hasOpenFile(directory) {
  try {
    const descriptors = readdirSync('/proc/self/fd');
    return descriptors.some((descriptor) => linkOf(descriptor).startsWith(realpathSync(directory)));
  } catch {
    return false;
  }
}

function linkOf(descriptor) {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return '';
  }
}

async function runCommand({ args, cwd, env, input }) {
  const openBefore = process.getActiveResourcesInfo().length;
  const [stdout, stderr] = [collector(), collector()];
  process.chdir(cwd);
  replace('stdin', Readable.from(input.length === 0 ? [] : [Buffer.from(input)], { objectMode: false }));
  replace('stdout', stdout.stream);
  replace('stderr', stderr.stream);
  const code = await runProgram(args, env).catch((error) => {
    stderr.stream.write(`${error.stack}\n`);
    return 1;
  });
  await allClosed(openBefore);
  // libsql closes a file when its statements are collected, which one collection may not do.
  for (let times = 0; times === 0 || (times < 20 && hasOpenFile(cwd)); times++) {
    globalThis.gc();
    await setTimeout(1);
  }
  process.removeAllListeners('SIGINT');
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

process.on('message', async (command) => {
  process.send(await runCommand(command));
});
