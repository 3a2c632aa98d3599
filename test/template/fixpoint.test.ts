import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DEFAULT_LIMITS, renderToFixpoint, RenderRun, type RunOptions } from '../../src/template/run.ts'
import { RenderError } from '../../src/template/language.ts'
import { type LinkedTool } from '../../src/template/template-function.ts'
import { Absent, PENDING, type Value } from '../../src/template/value.ts'
import { fakeEnvirons, runOptions } from '../helpers/fake-run.ts'

const here = { line: 1, column: 1 }

function tool (name: string): LinkedTool {
  return { kind: 'tool', name, id: name, mapArguments: positional => ({ value: positional[0] ?? null }) }
}

/** Renders a pass and records the calls in the order in which they were made. */
async function render (pass: (run: RenderRun) => Value, options: Partial<RunOptions> = {}) {
  const calls: unknown[] = []
  const all = runOptions({
    callTool: async ({ tool, arguments: values }) => {
      calls.push([tool.name, values['value']])
      return `${tool.name}(${String(values['value'])})`
    },
    ...options
  })
  const run = new RenderRun(all)
  return { value: await renderToFixpoint(run, 'test', () => pass(run), all), calls }
}

describe('renderToFixpoint', () => {
  it('runs one pass when nothing is noted', async () => {
    let passes = 0
    await render(() => ++passes)
    assert.equal(passes, 1)
  })

  it('needs no second pass for results that are in memory, and asks for each once', async () => {
    const asked: unknown[] = []
    const recallTool: RunOptions['recallTool'] = ({ tool, arguments: values }) => {
      asked.push(values['value'])
      return `${tool.name} remembers`
    }
    let passes = 0
    const { value, calls } = await render(run => {
      passes++
      return [run.call(tool('f'), ['x'], {}, here), run.call(tool('f'), ['x'], {}, here)] as Value
    }, { recallTool })
    assert.deepEqual([value, calls, asked, passes], [['f remembers', 'f remembers'], [], ['x'], 1])
  })

  it('counts results from memory against the limit of calls', async () => {
    const pass = (run: RenderRun) => [1, 2, 3].map(value => run.call(tool('f'), [value], {}, here)) as Value
    const all = runOptions({ recallTool: () => 'known', limits: { ...DEFAULT_LIMITS, calls: 2 } })
    const run = new RenderRun(all)
    await assert.rejects(renderToFixpoint(run, 'test', () => pass(run), all), { code: 'RENDER_BUDGET' })
  })

  it('runs again with a tool\'s result', async () => {
    const { value, calls } = await render(run => run.call(tool('f'), ['x'], {}, here))
    assert.equal(value, 'f(x)')
    assert.deepEqual(calls, [['f', 'x']])
  })

  it('makes equal calls once', async () => {
    const { calls } = await render(run => [run.call(tool('f'), ['x'], {}, here), run.call(tool('f'), ['x'], {}, here)])
    assert.equal(calls.length, 1)
  })

  it('makes all calls of a pass before it waits for any', async () => {
    let waiting = 0
    let release: () => void = () => {}
    const all = new Promise<void>(resolve => { release = resolve })
    await render(run => [1, 2, 3].map(value => run.call(tool('f'), [value], {}, here)), {
      callTool: async () => {
        if (++waiting === 3) release()
        await all
        return 'x'
      }
    })
    assert.equal(waiting, 3)
  })

  it('makes a call whose argument is a result after that result', async () => {
    const { value, calls } = await render(run => run.call(tool('g'), [run.call(tool('f'), ['x'], {}, here)], {}, here))
    assert.equal(value, 'g(f(x))')
    assert.deepEqual(calls, [['f', 'x'], ['g', 'f(x)']])
  })

  it('fetches shared variables before it makes calls', async () => {
    const environs = fakeEnvirons({ a: 'one' })
    const { calls } = await render(run => {
      const known = run.environ('a')
      return known === PENDING ? PENDING : run.call(tool('f'), [known as Value], {}, here)
    }, { environs })
    assert.deepEqual(environs.fetched, [['a']])
    assert.deepEqual(calls, [['f', 'one']])
  })

  it('keeps a shared variable as it was at first sight', async () => {
    let reads = 0
    const environs = { ...fakeEnvirons({ a: 1 }), cached: () => ({ value: ++reads, bytes: 1 }) }
    const seen: unknown[] = []
    await render(run => {
      seen.push(run.environ('a'))
      return run.call(tool('f'), ['x'], {}, here)
    }, { environs })
    assert.deepEqual(seen, [1, 1])
  })

  it('reports every miss of a round, once each, and makes none of its calls', async () => {
    const calls: unknown[] = []
    await assert.rejects(render(run => {
      run.call(tool('f'), ['x'], {}, here)
      run.miss(new Absent('variables.a'), here)
      run.miss(new Absent('variables.a'), here)
      run.miss(new Absent('variables.b'), { line: 2, column: 5 })
      return null
    }, { callTool: async call => { calls.push(call); return null } }), (error: { code: string, details: { missing: unknown } }) => {
      assert.equal(error.code, 'VARIABLE_MISSING')
      assert.deepEqual(error.details.missing, [{ path: 'variables.a', line: 1, column: 1 }, { path: 'variables.b', line: 2, column: 5 }])
      return true
    })
    assert.deepEqual(calls, [])
  })

  it('lets misses win over an error in the same pass', async () => {
    await assert.rejects(render(run => {
      run.miss(new Absent('variables.a'), here)
      throw new RenderError('go', 'index out of range', here)
    }), { code: 'VARIABLE_MISSING' })
  })

  it('makes no call of a pass that ends in an error', async () => {
    let calls = 0
    await assert.rejects(render(run => {
      run.call(tool('f'), ['x'], {}, here)
      throw new RenderError('go', 'index out of range', here)
    }, { callTool: async () => ++calls }), { message: 'index out of range' })
    assert.equal(calls, 0)
  })

  it('refuses more distinct calls than the limit', async () => {
    await assert.rejects(render(run => Array.from({ length: 101 }, (_, index) => run.call(tool('f'), [index], {}, here))), { code: 'RENDER_BUDGET' })
  })

  it('refuses more steps than the limit over all passes', async () => {
    await assert.rejects(render(run => {
      run.charge(60)
      return run.call(tool('f'), ['x'], {}, here)
    }, { limits: { ...DEFAULT_LIMITS, visits: 100 } }), { code: 'RENDER_BUDGET' })
  })

  const MIB = 1024 * 1024
  const values = (count: number, bytes: number) => Object.fromEntries(Array.from({ length: count }, (_value, index) => [`big.n${index}`, 'x'.repeat(bytes - 2)]))
  const readAll = (run: RenderRun) => run.environs.segmentsBelow('big').map(name => run.environ(`big.${name}`)) as Value

  for (const inMemory of [false, true]) {
    it(`refuses more than 8 MiB of shared variables that ${inMemory ? 'are in memory' : 'have to be fetched'}`, async () => {
      assert.deepEqual((await render(readAll, { environs: fakeEnvirons(values(8, MIB), { inMemory }) })).value, Array(8).fill('x'.repeat(MIB - 2)))
      await assert.rejects(render(readAll, { environs: fakeEnvirons(values(9, MIB), { inMemory }) }), { code: 'RENDER_BUDGET', message: 'Rendering needs more than 8388608 bytes of shared variables' })
    })
  }

  it('fetches no further shared variables once it has too much of them', async () => {
    const environs = fakeEnvirons(values(300, 100_000))
    await assert.rejects(render(readAll, { environs }), { code: 'RENDER_BUDGET' })
    assert.deepEqual(environs.fetched.map(names => names.length), [100])
  })

  it('ends at the abort, whatever a tool does', async () => {
    const controller = new AbortController()
    await assert.rejects(render(run => run.call(tool('f'), ['x'], {}, here), {
      signal: controller.signal,
      callTool: () => {
        controller.abort()
        return new Promise(() => {})
      }
    }), { code: 'RENDER_TIMEOUT', statusCode: 503 })
  })

  it('ends when the deadline has passed before a pass', async () => {
    await assert.rejects(render(() => null, { deadline: performance.now() - 1 }), { code: 'RENDER_TIMEOUT' })
  })

  it('begins no call after the deadline, however long the first ones take to begin', async () => {
    let calls = 0
    await assert.rejects(render(run => Array.from({ length: 100 }, (_, index) => run.call(tool('f'), [index], {}, here)), {
      deadline: performance.now() + 50,
      callTool: async () => {
        calls++
        const ends = performance.now() + 20
        while (performance.now() < ends);
        return null
      }
    }), { code: 'RENDER_TIMEOUT' })
    assert.ok(calls <= 3, `${calls} calls`)
  })

  it('takes a pass that left something pending and noted nothing for a mistake of ours', async () => {
    await assert.rejects(render(run => {
      run.unfinished = true
      return null
    }), /noted nothing/)
  })
})
