import assert from 'node:assert/strict'
import { type LookupAddress } from 'node:dns'
import { describe, it } from 'node:test'
import { createBaseUrls } from '../../src/tool/operator.ts'
import { createEgress, type Egress, EgressError, type EgressOptions, resolveHost } from '../../src/tool/egress.ts'
import { createToolReader } from '../../src/tool/tool-reader.ts'
import { TOOL_TYPES } from '../../src/tool/tool-types.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { createTestOperator, createToolRoom, define } from './tool-room.ts'

/** Refused under every policy: what they mean, in every spelling that some parser takes. */
const NEVER = [
  '169.254.169.254', '169.254.169.254.', '2852039166', '0xA9FEA9FE', '0xa9.0xfe.0xa9.0xfe', '0251.0376.0251.0376', '169.254.43518', '169.16689662',
  '%31%36%39.254.169.254', '169。254。169。254', '①⑥⑨.254.169.254',
  '[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]', '[0:0:0:0:0:FFFF:A9FE:A9FE]', '[::169.254.169.254]', '[64:ff9b::169.254.169.254]', '[2002:a9fe:a9fe::1]',
  '[fe80::1]', '[febf::1]', '[fd00:ec2::254]', '[FD00:0EC2:0:0:0:0:0:254]', '[fd00:ec2::23]', '[fd00:ec2:ffff::1]', '[fd20:ce::254]', '[fd00:c1::a9fe:a9fe]', '[fd00:c1::169.254.169.254]', '[fd00:42::42]',
  '[fd00:a9fe:a9fe::1]', '[fd00:100::100:200]', '100.100.100.200', '168.63.129.16', '192.0.0.192', '169.254.170.2', '169.254.42.42', '[fe80::a9fe:a9fe]',
  '0.0.0.0', '0', '0x0', '00.0', '[::]', '[::ffff:0.0.0.0]', '[::0.0.0.0]',
  '224.0.0.1', '239.255.255.255', '[ff02::1]', '255.255.255.255', '240.0.0.1'
]

/** Refused under `strict`, allowed under `internal`. */
const INTERNAL = [
  '127.0.0.1', '127.0.0.1.', '127.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '127.255.255.254', '[::1]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]',
  '10.0.0.1', '012.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '192.168.257', '3232235777', '[::ffff:10.0.0.1]', '100.64.0.1', '[fc00::1]', '[fdff::1]', '[fd00:ec1::254]', '[fd00:ec3::254]', '[fd00:42::43]'
]

const PUBLIC = ['8.8.8.8', '134744072', '[2606:4700:4700::1111]', '172.32.0.1', '100.128.0.1']

const refuses = (egress: Egress, spelling: string) => egress.refusal(new URL(`http://${spelling}/`).hostname) !== undefined

describe('egress of literal addresses', () => {
  const policies: readonly [EgressOptions, refused: readonly string[], allowed: readonly string[]][] = [
    [{ mode: 'internal', allow: [] }, NEVER, [...INTERNAL, ...PUBLIC]],
    [{ mode: 'strict', allow: [] }, [...NEVER, ...INTERNAL], PUBLIC],
    [{ mode: 'strict', allow: ['10.0.0.0/8', '::1', '0.0.0.0/0'] }, NEVER, INTERNAL.filter(spelling => !/^\[f/.test(spelling))],
    [{ mode: 'strict', allow: ['10.0.0.0/8'] }, ['127.0.0.1', '192.168.1.1', '[::1]'], ['10.1.2.3', '012.0.0.1', '[::ffff:10.0.0.1]']]
  ]
  for (const [options, refused, allowed] of policies) {
    for (const spelling of refused) it(`refuses ${spelling} under ${options.mode} allowing [${options.allow}]`, () => assert.ok(refuses(createEgress(options), spelling)))
    for (const spelling of allowed) it(`allows ${spelling} under ${options.mode} allowing [${options.allow}]`, () => assert.ok(!refuses(createEgress(options), spelling)))
  }

  for (const entry of ['10.0.0.0/33', 'http://x', '*', 'a b', '*.']) {
    it(`does not take "${entry}" for an entry of the allow list`, () => {
      assert.throws(() => createEgress({ mode: 'strict', allow: [entry] }), { message: `EGRESS_ALLOW: "${entry}" is no CIDR, address or host name` })
    })
  }
})

const answer = (...addresses: string[]): LookupAddress[] => addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))

/** An egress policy whose names resolve to these answers, one after the other. */
function withAnswers (options: Omit<EgressOptions, 'resolve'>, answers: readonly LookupAddress[][]): Egress {
  const left = [...answers]
  return createEgress({ ...options, resolve: (_host, done) => done(null, left.shift() ?? []) })
}

describe('egress of names', () => {
  const bad: readonly string[][] = [
    ['169.254.169.254'], ['8.8.8.8', '169.254.169.254'], ['127.0.0.1', '0.0.0.0'], ['::ffff:169.254.169.254'], ['fe80::1'], ['fe80::1%lo'],
    ['fd00:ec2::254'], ['fd00:ec2::23'], ['fd00:42::42'], ['100.100.100.200'], ['2606:4700::1', 'ff02::1'], ['64:ff9b::a9fe:a9fe'], []
  ]
  for (const addresses of bad) {
    it(`refuses a name that first resolves well and then to [${addresses}]`, async () => {
      const egress = withAnswers({ mode: 'internal', allow: [] }, [answer('10.0.0.1'), answer(...addresses)])
      assert.deepEqual(await resolveHost(egress, 'tool.example'), answer('10.0.0.1'))
      await assert.rejects(resolveHost(egress, 'tool.example'), EgressError)
    })
  }

  const strict: readonly [allow: string[], host: string, addresses: string[], allowed: boolean][] = [
    [[], 'api.example', ['8.8.8.8'], true],
    [[], 'api.example', ['10.0.0.1'], false],
    [[], 'api.example', ['8.8.8.8', '10.0.0.1'], false],
    [['api.example'], 'api.example', ['10.0.0.1'], true],
    [['api.example'], 'API.example.', ['10.0.0.1'], true],
    [['api.example'], 'evil.api.example', ['10.0.0.1'], false],
    [['*.svc.local'], 'tool.svc.local', ['10.0.0.1'], true],
    [['*.svc.local'], 'svc.local', ['10.0.0.1'], false],
    [['*.svc.local'], 'evilsvc.local', ['10.0.0.1'], false],
    [['10.0.0.0/8'], 'api.example', ['10.0.0.1'], true],
    [['api.example', '169.254.0.0/16'], 'api.example', ['169.254.169.254'], false]
  ]
  for (const [allow, host, addresses, allowed] of strict) {
    it(`${allowed ? 'allows' : 'refuses'} ${host} at [${addresses}] under strict allowing [${allow}]`, async () => {
      const resolved = resolveHost(withAnswers({ mode: 'strict', allow }, [answer(...addresses)]), host)
      if (allowed) assert.deepEqual(await resolved, answer(...addresses))
      else await assert.rejects(resolved, EgressError)
    })
  }
})

describe('egress of calls', () => {
  const registrations = (host: string): readonly object[] => [
    { type: 'restful', url: `http://${host}/x` },
    { type: 'grpc', url: `${host}:50051`, method: 'a.B/C', grpc: { url: `${host}:50051`, method: 'a.B/C', proto: 'syntax = "proto3"; package a; message M {} service B { rpc C (M) returns (M); }' } },
    { type: 'mcp', mcp: { url: `http://${host}/mcp`, tool: 'x' } }
  ]

  for (const registration of registrations('169.254.169.254')) {
    it(`rejects the registration ${JSON.stringify(registration).slice(0, 50)}`, () => {
      const { definition, diagnostics } = createToolReader(TOOL_TYPES, createTestOperator()).read('tool', 'tool', registration as never)
      assert.equal(definition, undefined)
      assert.match(diagnostics[0]?.message ?? '', /linkLocal\), which the egress policy refuses/)
    })
  }

  for (const registration of registrations('metadata.example').slice(0, 2)) {
    it(`refuses the calls of ${JSON.stringify(registration).slice(0, 50)} when the name resolves badly`, async test => {
      const egress = createEgress({ mode: 'internal', allow: [], resolve: (_host, done) => done(null, answer('169.254.169.254')) })
      const room = createToolRoom(test, { egress })
      const { error } = await room.call(room.register(registration))
      assert.equal(error?.code, 'EGRESS_REFUSED')
      assert.equal(error?.message, 'metadata.example resolves to 169.254.169.254 (linkLocal), which the egress policy refuses')
    })
  }

  it('refuses to connect to an MCP server whose name resolves badly', async test => {
    const egress = createEgress({ mode: 'internal', allow: [], resolve: (_host, done) => done(null, answer('169.254.169.254')) })
    const room = createToolRoom(test, { egress })
    room.caller.register([define({ mcp: { url: 'http://metadata.example/mcp' } }, room.operator)])
    await room.caller.prepared(5000)
    assert.deepEqual(room.warnings, [{ tool: 'test.tool', reason: 'metadata.example resolves to 169.254.169.254 (linkLocal), which the egress policy refuses' }])
  })

  it('connects to the address that was checked, and checks again for the next connection', async test => {
    const server = await startRestfulToolServer(test, { '/': (response) => response.writeHead(200, { connection: 'close', 'content-type': 'text/plain' }).end('ok') })
    const room = createToolRoom(test, { egress: withAnswers({ mode: 'internal', allow: [] }, [answer('127.0.0.1'), answer('127.0.0.1', '169.254.169.254')]) })
    const tool = room.register({ url: `http://tool.example:${server.port}/` })
    assert.equal((await room.call(tool)).value, 'ok')
    assert.equal((await room.call(tool)).error?.code, 'EGRESS_REFUSED')
    assert.equal(server.requests.length, 1)
  })

  for (const [registration, address] of [[{ module: 'm', url: '/x' }, 'http://2852039166'], [{ type: 'grpc', module: 'm', url: '/a.B/C' }, 'grpc://169.254.169.254:50051']] as const) {
    it(`refuses the address ${address} that a module publishes`, async test => {
      const room = createToolRoom(test, { baseUrls: createBaseUrls({ byModule: new Map(), modules: { has: () => true, get: async () => address } }) })
      assert.equal((await room.call(room.register(registration))).error?.code, 'EGRESS_REFUSED')
    })
  }

  it('refuses loopback under strict', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test, { egress: createEgress({ mode: 'strict', allow: [] }) })
    const { error } = await room.call(room.register({ url: `http://localhost:${server.port}/echo` }))
    assert.equal(error?.code, 'EGRESS_REFUSED')
    assert.equal(server.requests.length, 0)
  })

  const redirects: readonly [status: number, location: string][] = [
    [301, 'http://169.254.169.254/latest/meta-data'], [302, 'http://2852039166/'], [303, 'http://[::ffff:a9fe:a9fe]/'], [307, 'http://0/'], [308, 'http://metadata.google.internal/'],
    [302, '/echo'], [302, '//169.254.169.254/'], [302, 'https://127.0.0.1/'], [302, 'file:///etc/passwd'], [300, 'http://127.0.0.1/']
  ]
  for (const [status, location] of redirects) {
    it(`does not follow a ${status} to ${location} from an MCP server`, async test => {
      const server = await startRestfulToolServer(test, { '/go': response => response.writeHead(status, { location }).end() })
      const room = createToolRoom(test)
      room.caller.register([define({ mcp: { url: `${server.origin}/go` } }, room.operator)])
      await room.caller.prepared(5000)
      assert.deepEqual([...room.caller.states().values()], ['failed'])
      assert.deepEqual([...new Set(server.requests.map(({ url }) => url))], ['/go'])
    })

    it(`does not follow a ${status} to ${location}`, async test => {
      const server = await startRestfulToolServer(test, { '/go': response => response.writeHead(status, { location }).end() })
      const room = createToolRoom(test)
      const { error } = await room.call(room.register({ restful: { url: `${server.origin}/go`, method: 'GET' } }))
      assert.equal(error?.message, `answered with a redirect (${status}), which is not followed`)
      assert.equal(server.requests.length, 1)
    })
  }
})
