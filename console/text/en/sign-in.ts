/** Texts of signing in at a provider. */
export const texts = {
  signIn: 'Sign in',
  signInTitle: 'Sign in, please',
  signInWhy: 'What you see and may do depends on who you are.',
  signInAt: (host: string) => `at ${host}`,
  signInByToken: 'Use a token instead',
  signInFailed: (reason: string) => `You are not signed in: ${reason}`,
  signInForeign: 'this sign-in was not begun in this tab, or somebody else has answered it.',
  signInAway: 'The identity provider does not answer. Load the page again to try it again.',
  signInInsecure: 'Browsers let you sign in only on pages that are served by https.',
  signOut: 'Sign out',
  signedOut: 'You are signed out here.'
}
