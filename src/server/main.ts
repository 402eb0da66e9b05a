#!/usr/bin/env node
import { runProgram } from './cli/program.js';

// Hides a warning: Node 22 and 24 report at each start that node:sqlite is experimental. An
// operator cannot do anything about it.
const printers = process.listeners('warning');
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') for (const print of printers) print(warning);
});

process.exitCode = await runProgram(process.argv.slice(2), process.env);
