import assert from 'node:assert/strict'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { loadConfig } from '../../src/config/config.ts'
import { NOTICE_KINDS, parseOperator, readOperator } from '../../src/config/operator.ts'
import { openService } from '../../src/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

const HOST_KEY = `SHA256:${'a'.repeat(43)}`

describe('the operator\'s file', () => {
  it('is read with all that it may hold', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('shop/x', '')
    await folder.write('key', '')
    await symlink('shop', join(folder.path, 'link'))
    await folder.write('operator.yaml', `
workspaces:
  shop: { path: link, skills: true, checks: { test: npm test }, logs: { app: logs/../logs/app.log }, mayChange: [Procfile, "*.go"], readable: [key, /usr] }
targets:
  here: { type: local, workspace: shop, sandbox: required, auto: true, network: true, environment: [CI], terminal: true, record: true }
  bare: { type: local, workspace: shop }
  web: { type: ssh, host: web.example, user: deploy, hostKey: "${HOST_KEY}", keyFile: key, cwd: /srv/app, skills: true, terminal: true }
  away: { type: ssh, host: "::1", port: 2222, user: deploy, hostKey: "${HOST_KEY}" }
policy:
  - { effect: allow, on: exec, command: "df *", targets: [here] }
  - { effect: deny, on: exec, command: "rm *" }
`)
    const { workspaces, targets, rules } = readOperator(join(folder.path, 'operator.yaml'))
    const shop = { name: 'shop', path: join(folder.path, 'shop'), hasSkills: true, checks: new Map([['test', 'npm test']]), logs: new Map([['app', 'logs/app.log']]), confirm: 'deletions', mayCommit: false, mayChange: ['Procfile', '*.go'], readable: [join(folder.path, 'key'), '/usr'] }
    assert.deepEqual([...workspaces], [['shop', shop]])
    assert.deepEqual([...targets.values()], [
      { type: 'local', name: 'here', workspace: shop, sandbox: 'required', hasNetwork: true, mayRunUnasked: true, environment: ['CI'], mayOpenTerminal: true, isRecorded: true },
      { type: 'local', name: 'bare', workspace: shop, sandbox: 'auto', hasNetwork: false, mayRunUnasked: false, environment: [], mayOpenTerminal: false, isRecorded: false },
      { type: 'ssh', name: 'web', host: 'web.example', port: 22, user: 'deploy', hostKey: HOST_KEY, keyFile: join(folder.path, 'key'), cwd: '/srv/app', hasSkills: true, mayRunUnasked: false, mayOpenTerminal: true, isRecorded: false },
      { type: 'ssh', name: 'away', host: '::1', port: 2222, user: 'deploy', hostKey: HOST_KEY, hasSkills: false, mayRunUnasked: false, mayOpenTerminal: false, isRecorded: false }
    ])
    assert.deepEqual(rules, [{ effect: 'allow', command: 'df *', targets: ['here'] }, { effect: 'deny', command: 'rm *' }])
  })

  it('may be JSON, and may be empty', () => {
    assert.equal(parseOperator('{"workspaces": {"a": {"path": "."}}}', process.cwd()).workspaces.get('a')?.path, process.cwd())
    assert.deepEqual(parseOperator('{}', '/'), { workspaces: new Map(), targets: new Map(), rules: [], budgets: [], identities: [], notices: [], labels: new Map() })
  })

  it('says who is told, with addresses and secrets of files', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('new-and-old', `whsec_${Buffer.alloc(32, 1).toString('base64')}\n${Buffer.alloc(24, 2).toString('base64')}\n`)
    await folder.write('slack', 'https://hooks.slack.com/services/T/B/x\n')
    const { notices } = parseOperator('notices:\n  ops: { url: "https://example.com/h?k=1", secretFile: new-and-old, kinds: [label.moved], owners: [ci], definitions: [agents.*] }\n  chat: { urlFile: slack, format: slack }', folder.path)
    assert.deepEqual(notices, [
      { name: 'ops', url: 'https://example.com/h?k=1', format: 'standard', secrets: [Buffer.alloc(32, 1), Buffer.alloc(24, 2)], kinds: ['label.moved'], owners: ['ci'], definitions: ['agents.*'], files: [join(folder.path, 'new-and-old')] },
      { name: 'chat', url: 'https://hooks.slack.com/services/T/B/x', format: 'slack', secrets: [], kinds: NOTICE_KINDS, owners: undefined, definitions: undefined, files: [join(folder.path, 'slack')] }
    ])
  })

  const NOTICE = (members: string) => `notices:\n  a: { ${members} }`
  const ADDRESS = 'expected an https address without credentials, or an http one of this machine'
  const W = 'workspaces: { a: { path: . } }\n'
  const refused: ReadonlyArray<readonly [string, string, string]> = [
    ['what is no YAML', 'a: [', 'line 1: expected YAML, Flow sequence in block collection must be sufficiently indented and end with a ]'],
    ['a receiver of notices in clear over the network', NOTICE('url: "http://example.com/", format: slack'), `line 2: notices.a.url: ${ADDRESS}, got "http://example.com"`],
    ['a receiver with a password in its address', NOTICE('url: "https://a:b@example.com/", format: slack'), `line 2: notices.a.url: ${ADDRESS}, got "https://example.com"`],
    ['a receiver whose file has no address', NOTICE('urlFile: package.json, format: slack'), `line 2: notices.a.urlFile: ${ADDRESS}, got "package.json"`],
    ['a receiver without a secret', NOTICE('url: "https://example.com/"'), 'line 2: notices.a.secretFile: expected a file with a secret, got ""'],
    ['a secret that is none', NOTICE('url: "https://example.com/", secretFile: package.json'), 'line 2: notices.a.secretFile: expected secrets of 24 to 64 bytes, such as whsec_ and what openssl rand -base64 32 prints, got "package.json"'],
    ['a secret that is not there', NOTICE('url: "https://example.com/", secretFile: nowhere'), 'line 2: notices.a.secretFile: expected a file that can be read (ENOENT), got "nowhere"'],
    ['an unknown part', '\ntarget: {}', 'line 2: operator.target is not expected'],
    ['a list of workspaces', 'workspaces: [a]', 'line 1: operator.workspaces must be object'],
    ['a name with a blank', 'workspaces:\n  a b: { path: . }', 'line 2: operator.workspaces must match pattern "^[A-Za-z0-9_-]{1,64}$"; line 2: operator.workspaces property name must be valid'],
    ['a folder that is not there', 'workspaces:\n  a:\n    path: nowhere', 'line 3: workspaces.a.path: expected a folder that is there, got "nowhere"'],
    ['a file for a folder', 'workspaces: { a: { path: package.json } }', 'line 1: workspaces.a.path: expected a folder that is there, got "package.json"'],
    ['a log outside of its workspace', 'workspaces:\n  a: { path: src, logs: { x: ../package.json } }', 'line 2: workspaces.a.logs.x: expected a file below the workspace, got "../package.json"'],
    ['the workspace as a log', 'workspaces: { a: { path: src, logs: { x: . } } }', 'line 1: workspaces.a.logs.x: expected a file below the workspace, got "."'],
    ['a name of any file that may be changed', 'workspaces:\n  a: { path: src, mayChange: ["*"] }', 'line 2: operator.workspaces.a.mayChange[0] must match pattern "^(?:\\*\\.)?[^*/\\\\\\s][^*/\\\\]*$"'],
    ['a path that may be changed', 'workspaces:\n  a: { path: src, mayChange: [src/x.go] }', 'line 2: operator.workspaces.a.mayChange[0] must match pattern "^(?:\\*\\.)?[^*/\\\\\\s][^*/\\\\]*$"'],
    ['what may be read and is not there', 'workspaces:\n  a: { path: src, readable: [docs, nowhere] }', 'line 2: workspaces.a.readable.1: expected a file or folder that is there, got "nowhere"'],
    ['all of the machine as what may be read', 'workspaces:\n  a: { path: src, readable: [/] }', 'line 2: workspaces.a.readable.0: expected a path that is not all, and none below /proc or /dev, got "/"'],
    ['the machine\'s processes as what may be read', 'workspaces:\n  a: { path: src, readable: [/proc/1] }', 'line 2: workspaces.a.readable.0: expected a path that is not all, and none below /proc or /dev, got "/proc/1"'],
    ['an unknown workspace', `${W}targets: { t: { type: local, workspace: b } }`, 'line 2: targets.t.workspace: expected the name of a workspace, got "b"'],
    ['a workspace that every object has', `${W}targets: { t: { type: local, workspace: constructor } }`, 'line 2: targets.t.workspace: expected the name of a workspace, got "constructor"'],
    ['a target of no type', `${W}targets: { t: { type: docker } }`, 'line 2: operator.targets.t.type must be one of "local","ssh"'],
    ['a sandbox of another kind', `${W}targets: { t: { type: local, workspace: a, sandbox: yes } }`, 'line 2: operator.targets.t.sandbox must be one of "auto","required","off"'],
    ['a name that is the id of a terminal', `${W}targets:\n  ${'a'.repeat(32)}: { type: local, workspace: a }`, `line 3: targets.${'a'.repeat(32)}: expected a name that is no id of a terminal, got "${'a'.repeat(32)}"`],
    ['a variable with a secret of the service', `${W}targets: { t: { type: local, workspace: a, environment: [CI, LLM_API_KEY] } }`, 'line 2: targets.t.environment.1: expected a variable that is none of the service\'s own, got "LLM_API_KEY"'],
    ['a secret of a tool', `${W}targets: { t: { type: local, workspace: a, environment: [TOOL_SECRET_X] } }`, 'line 2: targets.t.environment.0: expected a variable that is none of the service\'s own, got "TOOL_SECRET_X"'],
    ['a host without a key', 'targets: { t: { type: ssh, host: h, user: u } }', 'line 1: operator.targets.t.hostKey is required'],
    ['a host key of another form', 'targets: { t: { type: ssh, host: h, user: u, hostKey: "MD5:1" } }', 'line 1: operator.targets.t.hostKey must match pattern "^SHA256:[A-Za-z0-9+/]{43}$"'],
    ['a key that is not there', `targets: { t: { type: ssh, host: h, user: u, hostKey: "${HOST_KEY}", keyFile: nowhere } }`, 'line 1: targets.t.keyFile: expected a file that is there, got "nowhere"'],
    ['a relative folder of a host', `targets: { t: { type: ssh, host: h, user: u, hostKey: "${HOST_KEY}", cwd: app } }`, 'line 1: operator.targets.t.cwd must match pattern "^/"'],
    ['a rule for an unknown target', `${W}policy:\n  - { effect: allow, on: exec, command: ls }\n  - { effect: deny, on: exec, command: rm, targets: [t] }`, 'line 4: policy.1.targets.0: expected the name of a target, got "t"'],
    ['a look at latest', 'labels: { latest: { approvals: 1 } }', 'line 1: labels.latest: expected a name of a label, and not latest, got "latest"'],
    ['a look of nobody', 'labels: { production: { approvals: 0 } }', 'line 1: operator.labels.production.approvals must be >= 1'],
    ['a label that needs nothing', 'labels: { production: {} }', 'line 1: operator.labels.production must NOT have fewer than 1 properties'],
    ['tests that may fail', 'labels: { production: { tests: run } }', 'line 1: operator.labels.production.tests must be equal to constant'],
    ['a rule for something else', 'policy: [{ effect: allow, on: apply, command: ls }]', 'line 1: operator.policy[0].on must be equal to constant'],
    ['a rule whose last word ends with a star', 'policy:\n  - { effect: deny, on: exec, command: "git push --force*" }', 'line 2: policy.0.command: expected a last word without a star at its end, or a star as a word of its own behind it, got "git push --force*"'],
    ['a blank rule', 'policy: [{ effect: allow, on: exec, command: " " }]', 'line 1: operator.policy[0].command must match pattern "\\S"']
  ]
  for (const [what, text, message] of refused) {
    it(`is refused with ${what}`, () => {
      assert.throws(() => parseOperator(text, process.cwd()), { message })
    })
  }

  it('stops the start of the service, by its name and place', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('operator.yaml', 'targets:\n  here: { type: local, workspace: shop }')
    const file = join(folder.path, 'operator.yaml')
    const config = loadConfig({ STORE_DIR: folder.path, SESSION_STORE: 'memory', OPERATOR_FILE: file })
    await assert.rejects(openService(config, { debug () {}, info () {}, warn () {}, error () {} }), { name: 'ConfigError', message: `OPERATOR_FILE: ${file}: line 2: targets.here.workspace: expected the name of a workspace, got "shop"` })
  })

  it('keeps a service from starting whose own files commands could read', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    for (const file of ['shop/a', 'tools/bin/a']) await folder.write(file, '')
    await symlink('tools', join(folder.path, 'link'))
    await folder.write('operator.yaml', 'workspaces: { shop: { path: shop, readable: [link] } }')
    const config = loadConfig({ STORE_DIR: join(folder.path, 'shop'), STATE_DIR: join(folder.path, 'tools/state'), SESSION_STORE: 'memory', OPERATOR_FILE: join(folder.path, 'operator.yaml') })
    await assert.rejects(openService(config, { debug () {}, info () {}, warn () {}, error () {} }), {
      name: 'ConfigError', message: `STATE_DIR: expected a folder outside of what workspace "shop" lets commands read (${join(folder.path, 'link')}), got "${join(folder.path, 'tools/state')}"`
    })
  })

  for (const [what, environment, starts] of [
    ['reached from elsewhere without tokens', { AUTH: 'off', HOST: '0.0.0.0' }, false],
    ['reached from this machine alone', {}, true]
  ] as const) {
    it(`${starts ? 'lets' : 'keeps'} a service ${starts ? 'start' : 'from starting'} that is ${what} and offers a terminal`, async t => {
      const folder = await createTemporaryFolder()
      t.after(folder.remove)
      await folder.write('shop/a', '')
      await folder.write('operator.yaml', 'workspaces: { shop: { path: shop } }\ntargets: { here: { type: local, workspace: shop, terminal: true } }')
      const config = loadConfig({ STORE_DIR: join(folder.path, 'shop'), STATE_DIR: join(folder.path, 'state'), SESSION_STORE: 'memory', OPERATOR_FILE: join(folder.path, 'operator.yaml'), ...environment })
      const opening = openService(config, { debug () {}, info () {}, warn () {}, error () {} })
      if (starts) await (await opening).close()
      else await assert.rejects(opening, { name: 'ConfigError', message: /^AUTH=off: expected tokens or a loopback address in HOST where target "here" has terminal: true$/ })
    })
  }

  it('is named where it is not there, or too large', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('large', ' '.repeat(1024 * 1024 + 1))
    assert.throws(() => readOperator('/nowhere.yaml'), { message: /^\/nowhere\.yaml: ENOENT/ })
    assert.throws(() => readOperator(join(folder.path, 'large')), { message: /large: expected at most 1048576 bytes, got 1048577$/ })
  })
})
