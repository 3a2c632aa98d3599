#!/usr/bin/env node
import { runProgram } from './program.ts'

// The program that gets the output can close it early, as `head` does: then `aps` ends without an error.
process.stdout.once('error', (error: NodeJS.ErrnoException) => { process.exit(error.code === 'EPIPE' ? 0 : 1) })
process.exitCode = await runProgram(process)
