import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createReadStream, openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * A system call of a traced process. `startedAt` and `finishedAt` are line numbers in the record
 * that strace writes. All threads share one record.
 */
export interface SystemCall {
  readonly name: string;
  /**
   * The parameters as strace prints them, with strings in hexadecimal. See {@link bytesOf} and
   * {@link pathOf}.
   */
  readonly parameters: readonly string[];
  /** The result, such as `4096` or `-1 EIO (Input/output error) (INJECTED)`. */
  readonly result: string;
  readonly startedAt: number;
  readonly finishedAt: number;
}

/**
 * Returns the reason to skip a test if processes cannot be traced here, with what to do about it.
 * Returns false if they can be traced.
 */
export function cannotTrace(): string | false {
  const command = ['-f', '--seccomp-bpf', '-o', '/dev/null', process.execPath, '-v'];
  const { error, status, stderr } = spawnSync('strace', command);
  if (error !== undefined) return 'needs strace (Linux): install the package strace';
  if (status !== 0) return `strace cannot trace here; allow ptrace (containers: --cap-add=SYS_PTRACE): ${stderr}`;
  return false;
}

/**
 * The file that receives the output of the process. It is in the traced folder, so that the record
 * shows which system calls came before each result.
 */
export const ANSWERS = 'answers';

/**
 * The calls that can change a file. strace ignores a name with `?` on a processor without that
 * call.
 */
const CALLS =
  '?open,openat,?creat,write,pwrite64,writev,pwritev,pwritev2,sendfile,copy_file_range,truncate,ftruncate,fallocate,' +
  'mmap,?unlink,unlinkat,?rename,?renameat,renameat2,?link,linkat,fsync,fdatasync,sync_file_range';

/**
 * Runs a command under strace until it kills itself. Fails if it ends in another way. `command` can
 * begin with further options of strace. {@link readRecord} reads the record, which must be outside
 * the folder.
 */
export async function trace(folder: string, record: string, command: readonly string[]): Promise<void> {
  const answers = openSync(join(folder, ANSWERS), 'a');
  const strace = spawn(
    'strace',
    // These options make strace follow all threads, and print all bytes in hexadecimal and the path
    // of every file descriptor.
    ['-f', '-xx', '-y', '-s', '1048576', '--seccomp-bpf', '-o', record, '-e', `trace=${CALLS}`, ...command],
    { stdio: ['ignore', answers, 'pipe'] },
  );
  closeSync(answers);
  let errors = '';
  strace.stderr?.on('data', (text) => {
    errors += text;
  });
  await once(strace, 'close');
  assert.equal(strace.signalCode, 'SIGKILL', errors);
}

/**
 * Yields the calls that concern the folder, in the order in which they returned. Line numbers
 * start after `position`, so that several recordings can be numbered as one.
 */
export async function* readRecord(record: string, folder: string, position = 0): AsyncGenerator<SystemCall> {
  const folderInHex = hex(folder);
  /**
   * The calls that strace printed in two parts, because other threads' calls came between. The key
   * is the thread.
   */
  const unfinished = new Map<string, { readonly text: string; readonly startedAt: number }>();
  for await (const line of createInterface({ input: createReadStream(record, 'latin1') })) {
    position++;
    const space = line.indexOf(' ');
    const thread = line.slice(0, space);
    let text = line.slice(space).trimStart();
    let startedAt = position;
    if (text.startsWith('<... ')) {
      const started = unfinished.get(thread);
      unfinished.delete(thread);
      if (started === undefined) continue;
      text = started.text + text.slice(text.indexOf('>') + 1);
      startedAt = started.startedAt;
    } else if (!text.includes(folderInHex)) continue;
    if (text.endsWith(UNFINISHED)) unfinished.set(thread, { text: text.slice(0, -UNFINISHED.length), startedAt });
    else yield { ...parse(text), startedAt, finishedAt: position };
  }
}

const UNFINISHED = ' <unfinished ...>';

/**
 * Parses a line such as `pwrite64(33<\x2f…>, "\x0a…", 12, 0) = 12`. In hexadecimal, no string
 * contains a comma, a parenthesis or a `=`.
 */
function parse(text: string): Pick<SystemCall, 'name' | 'parameters' | 'result'> {
  const open = text.indexOf('(');
  const equals = text.lastIndexOf(' = ');
  const close = text.lastIndexOf(')', equals);
  return {
    name: text.slice(0, open),
    parameters: text.slice(open + 1, close).split(', '),
    result: text.slice(equals + ' = '.length),
  };
}

function hex(text: string): string {
  return Buffer.from(text).toString('hex').replaceAll(/../g, '\\x$&');
}

/** Returns the bytes of a string parameter. */
export function bytesOf(parameter = ''): Buffer {
  return Buffer.from(parameter.replaceAll(/[^0-9a-f]|\\x/g, ''), 'hex');
}

/**
 * Returns the path in a parameter that is a path or a file descriptor, or `undefined` if the file
 * no longer has a name.
 */
export function pathOf(parameter = ''): string | undefined {
  const [, path] = /["<]([^">]*)[">]$/.exec(parameter) ?? [];
  return path === undefined ? undefined : bytesOf(path).toString();
}
