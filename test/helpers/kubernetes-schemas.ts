import { type Manifest } from './helm-chart.ts'

interface Model { validate (): void }
type Models = Readonly<Record<string, new (data: object) => Model>>

/** Where the models with Kubernetes' own schemas are, by API. */
const MODELS: Readonly<Record<string, () => Promise<unknown>>> = {
  v1: () => import('kubernetes-models/v1'),
  'apps/v1': () => import('kubernetes-models/apps/v1'),
  'autoscaling/v2': () => import('kubernetes-models/autoscaling/v2'),
  'networking.k8s.io/v1': () => import('kubernetes-models/networking.k8s.io/v1'),
  'policy/v1': () => import('kubernetes-models/policy/v1'),
  'monitoring.coreos.com/v1': () => import('@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1')
}

/**
 * Checks a manifest against the schema of its kind. The schemas let unknown fields pass, as old API servers do; so the
 * fields are found that the validation never looks at.
 * @throws Error with every violation
 */
export async function checkManifest (manifest: Manifest): Promise<void> {
  const models = await MODELS[manifest.apiVersion]?.() as Models | undefined
  const Model = models?.[manifest.kind]
  if (Model === undefined) throw new Error(`${manifest.apiVersion} has no ${manifest.kind}`)
  const unread = new Set<string>()
  const model = new Model({})
  Object.assign(model, watched(manifest, '', unread))
  model.validate()
  if (unread.size > 0) throw new Error(`unknown fields: ${[...unread].join(', ')}`)
}

/** A view of the value that notes which of its members nobody has read. */
function watched (value: unknown, path: string, unread: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const members = new Map(Object.keys(value).map(name => {
    unread.add(`${path}/${name}`)
    return [name, watched((value as Record<string, unknown>)[name], `${path}/${name}`, unread)]
  }))
  return new Proxy(value, {
    get (target, name) {
      unread.delete(`${path}/${String(name)}`)
      return members.get(String(name)) ?? Reflect.get(target, name)
    }
  })
}
