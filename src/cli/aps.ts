#!/usr/bin/env node
import { runProgram } from './program.ts'

// The reader can close the output early, as `head` does: no error.
process.stdout.once('error', (error: NodeJS.ErrnoException) => { process.exit(error.code === 'EPIPE' ? 0 : 1) })
process.exitCode = await runProgram(process)
