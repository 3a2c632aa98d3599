#!/usr/bin/env node
import { runProgram } from './program.ts'

// A reader of the output may stop early, as `head` does: then the program ends without an error.
process.stdout.once('error', (error: NodeJS.ErrnoException) => { process.exit(error.code === 'EPIPE' ? 0 : 1) })
process.exitCode = await runProgram(process)
