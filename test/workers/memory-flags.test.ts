import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryFlags } from '../../src/workers/memory-flags.ts'

describe('flags for memory', () => {
  it('are given where Node takes more room for new objects', () => {
    for (const version of ['22.1.0', '24.21.0', '26.0.0']) assert.deepEqual(memoryFlags({ version, execArgv: [], options: undefined }), ['--max-semi-space-size=16'])
  })

  it('are not needed before that', () => {
    assert.deepEqual(memoryFlags({ version: '20.19.0', execArgv: [], options: undefined }), [])
  })

  it('leave a value alone that the command line or NODE_OPTIONS says', () => {
    assert.deepEqual(memoryFlags({ version: '24.0.0', execArgv: ['--max-semi-space-size=64'], options: undefined }), [])
    assert.deepEqual(memoryFlags({ version: '24.0.0', execArgv: [], options: '--enable-source-maps --max_semi_space_size=8' }), [])
  })
})
