import { type Config, ConfigError } from '../../../config/config.ts'
import { type OperatorFile } from '../../../config/operator.ts'
import { readSessionSecrets } from '../../../config/session-secrets.ts'
import { createSeals, type Seals } from '../../../session/seal.ts'
import { placeOf } from './session-place.ts'

/**
 * Makes the seals (signatures) of the logs of sessions. Other programs can write to the same Redis, and must not be able to approve a command
 * by writing into a log. A folder of sessions belongs to the service's user alone, who could read the secret, too, so logs in a folder are
 * sealed only if the operator sets a secret.
 * @throws ConfigError if sessions are allowed to run commands or change files, are kept in Redis, and there is no secret
 */
export function sessionSealsOf (config: Config, { targets, workspaces }: Pick<OperatorFile, 'targets' | 'workspaces'>): Seals {
  const secrets = readSessionSecrets(config)
  const mayAct = targets.size > 0 || workspaces.size > 0
  if (secrets.length === 0 && mayAct && placeOf(config).kind === 'redis') {
    throw new ConfigError('SESSION_SECRET or SESSION_SECRET_FILE: expected a secret, since OPERATOR_FILE offers targets or workspaces ' +
      'and sessions are kept in Redis: whoever can write there could approve commands; openssl rand -hex 32 makes one')
  }
  return createSeals(secrets)
}
