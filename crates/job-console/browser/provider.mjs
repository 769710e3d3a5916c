// An identity provider on loopback with any user, for tests and for a trial of the console.
//
// As a program: node provider.mjs REDIRECT-ADDRESS [PORT]

import { createServer } from 'node:http'
import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import { Provider } from 'oidc-provider'

/** Starts the provider for one console. Each user is in the group `ops`. */
export async function startProvider(redirect, port = 0) {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://localhost:${server.address().port}`
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'ejob',
      client_secret: 's3cret-of-the-console',
      redirect_uris: [redirect],
      post_logout_redirect_uris: [redirect.replace(/\/oidc\/callback$/, '')],
    }],
    claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
    // The console reads the ID token only.
    conformIdTokenClaims: false,
    cookies: { keys: ['a key of a provider for tests'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, groups: ['ops'] }),
    }),
  })
  server.on('request', provider.callback())
  return { issuer, server }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , redirect, port] = process.argv
  if (!redirect) throw new Error('usage: node provider.mjs REDIRECT-ADDRESS [PORT]')
  const { issuer } = await startProvider(redirect, Number(port ?? 0))
  console.log(`issuer: ${issuer}`)
}
