// npm run check: the lint, the types, and whether what is made from the code is as the code says.
import { installPackages, run } from './install.js'
import { announce, keepTime } from './testing/took.js'

announce('check', 'lint, types, generated documents', 2)
installPackages()
await keepTime('check', () => {
  run('npm', ['run', '--silent', 'lint'])
  run('npm', ['run', '--silent', 'typecheck'])
  run('npm', ['run', '--silent', 'docs', '--', '--check'])
})
