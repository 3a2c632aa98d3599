import { type texts as english } from '../en/sign-in.ts'
import { type Same } from '../same.ts'

export const texts: Same<typeof english> = {
  signIn: 'Войти',
  signInTitle: 'Войдите, пожалуйста',
  signInWhy: 'Что видно и что можно, зависит от того, кто вы.',
  signInAt: host => `через ${host}`,
  signInByToken: 'Войти по токену',
  signInFailed: reason => `Войти не удалось: ${reason}`,
  signInForeign: 'этот вход начат не в этой вкладке, или на него ответил кто-то другой.',
  signInAway: 'Служба входа не отвечает. Чтобы попробовать ещё раз, загрузите страницу заново.',
  signInInsecure: 'Браузер позволяет войти только на страницах, открытых по https.',
  signOut: 'Выйти',
  signedOut: 'Здесь вы вышли.'
}
