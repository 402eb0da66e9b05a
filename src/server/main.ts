#!/usr/bin/env node
import { runProgram } from './cli/program.js';

// Node 22 and 24 warn at each start that node:sqlite is experimental. The operator does not need
// this.
const printers = process.listeners('warning');
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') for (const print of printers) print(warning);
});

process.exitCode = await runProgram(process.argv.slice(2), process.env);
