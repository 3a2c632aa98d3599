#!/usr/bin/env node
import { runProgram } from './program.ts'

// Whoever reads the output may leave early, as `head` does: there is nobody left to write for.
process.stdout.once('error', (error: NodeJS.ErrnoException) => { process.exit(error.code === 'EPIPE' ? 0 : 1) })
process.exitCode = await runProgram(process)
