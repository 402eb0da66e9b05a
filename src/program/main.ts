#!/usr/bin/env node
import { runProgram } from './commands/index.js';

// Hides the warning of Node 22 and 24 that node:sqlite is experimental. It needs no action.
const printers = process.listeners('warning');
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') for (const print of printers) print(warning);
});

process.exitCode = await runProgram(process.argv.slice(2), process.env);
