import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/config.ts'

interface ComposeService {
  readonly image?: string
  readonly profiles?: readonly string[]
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly depends_on?: object
  readonly stop_grace_period?: string
  readonly environment?: Readonly<Record<string, string>>
}

const read = <T> (path: string): T => parse(readFileSync(path, 'utf8')) as T
const compose = read<{ services: Record<string, ComposeService>, volumes: object }>('docker-compose.yml')
const services = Object.entries(compose.services)

describe('docker-compose.yml', () => {
  it('starts Prometheus and Grafana with the profile "monitoring" only', () => {
    const watching = services.filter(([, { profiles }]) => profiles !== undefined)
    assert.deepEqual(watching.map(([name, { profiles }]) => [name, profiles]), [['prometheus', ['monitoring']], ['grafana', ['monitoring']]])
  })

  it('publishes every port on this machine only', () => {
    const ports = services.flatMap(([, service]) => service.ports ?? [])
    assert.ok(ports.length >= 3)
    assert.deepEqual(ports.filter(port => !port.startsWith('127.0.0.1:')), [])
  })

  it('names an image by version and mounts only what exists', () => {
    for (const [name, { image, volumes = [] }] of services) {
      if (image !== undefined) assert.match(image, /:v?\d/, name)
      for (const volume of volumes) {
        const [source = ''] = volume.split(':')
        assert.ok(source.startsWith('./') ? existsSync(source) : Object.hasOwn(compose.volumes, source), volume)
      }
    }
  })

  it('gives requests in flight the time that the service gives them', () => {
    const [, seconds] = /^(\d+)s$/.exec(compose.services['ai-prompt-shell']?.stop_grace_period ?? '') ?? []
    const { DRAIN_DELAY_MS: delay, DRAIN_TIMEOUT_MS: timeout } = loadConfig({ STORE_DIR: 'x' })
    assert.ok(Number(seconds) * 1000 > delay + timeout)
  })

  it('lets in everyone of its network, unless tokens are given', () => {
    const { AUTH, API_TOKENS } = compose.services['ai-prompt-shell']?.environment ?? {}
    assert.match(AUTH ?? '', /^\$\{AUTH:-off\}$/)
    assert.match(API_TOKENS ?? '', /^\$\{API_TOKENS:-\}$/)
  })

  it('is called by its name within its network, and by more that are given', () => {
    assert.equal(compose.services['ai-prompt-shell']?.environment?.['ALLOWED_HOSTS'], 'ai-prompt-shell,${ALLOWED_HOSTS:-}') // eslint-disable-line no-template-curly-in-string
  })

  it('has Prometheus scrape the service, and Grafana ask Prometheus', () => {
    const { scrape_configs: [job] } = read<{ scrape_configs: [{ metrics_path: string, static_configs: [{ targets: string[] }] }] }>('deploy/prometheus.yml')
    assert.deepEqual(job.static_configs[0].targets, ['ai-prompt-shell:8080'])
    const { datasources: [source] } = read<{ datasources: [{ type: string, url: string }] }>('deploy/grafana/provisioning/datasources/prometheus.yml')
    assert.equal(source.url, 'http://prometheus:9090')
    const { providers: [provider] } = read<{ providers: [{ options: { path: string } }] }>('deploy/grafana/provisioning/dashboards/ai-prompt-shell.yml')
    assert.ok(compose.services['grafana']?.volumes?.includes(`./deploy/grafana:${provider.options.path}:ro`))
  })
})
