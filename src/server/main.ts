#!/usr/bin/env node
import { runProgram } from './commands.js';

process.exitCode = await runProgram(process.argv.slice(2), process.env);
