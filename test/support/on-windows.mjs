// Makes the program print what it prints on a terminal of Windows.
import { createRequire } from 'node:module';

// Loads the driver first, because it comes with a binary for each platform.
createRequire(import.meta.url)('libsql');
Object.defineProperty(process, 'platform', { value: 'win32' });
process.stderr.isTTY = true;
