// Makes the program print what it would print in a terminal on Windows.
import { createRequire } from 'node:module';

// The SQLite driver is loaded before the platform is changed, because it has a binary for each
// platform.
createRequire(import.meta.url)('libsql');
Object.defineProperty(process, 'platform', { value: 'win32' });
process.stderr.isTTY = true;
