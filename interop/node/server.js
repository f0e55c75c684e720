// A server of package `spdy` that answers the patterns of `loadstone serve --patterns`: see ../README.md.
'use strict'

const fs = require('fs')
const spdy = require('spdy')

// After so many bytes the pattern begins again.
const PERIOD = 65536
const PATTERN = Buffer.from(Uint8Array.from({ length: PERIOD }, (_, i) => 131 * i + 7 * Math.floor(i / 256) + 13))

function pattern (length) {
  return Buffer.alloc(length, PATTERN)
}

function respond (request, response, status, body) {
  response.writeHead(status, { 'content-length': String(body.length) })
  response.end(request.method === 'HEAD' ? undefined : body)
}

function push (response, at) {
  const body = pattern(1000 + at)
  const headers = { request: {}, response: { 'content-length': String(body.length) } }
  const pushed = response.push(`/pushed/${at}`, headers)
  // The client may refuse it.
  pushed.on('error', () => {})
  pushed.end(body)
}

// HTTP/1.1 sends back what comes while more of it is coming, in chunks. With `spdy` only what is written at once
// arrives (docs/interop.md).
function echo (request, response) {
  if (!request.isSpdy) {
    response.writeHead(200)
    return request.pipe(response)
  }
  const pieces = []
  request.on('data', piece => pieces.push(piece))
  request.on('end', () => respond(request, response, 200, Buffer.concat(pieces)))
}

function answer (request, response) {
  const [, what, number] = request.url.split('/')
  if (what === 'echo') return echo(request, response)
  if (what === 'bytes') return respond(request, response, 200, pattern(Number(number)))
  if (what !== 'push') return respond(request, response, 404, Buffer.alloc(0))
  for (let at = 0; at < Number(number); at++) push(response, at)
  respond(request, response, 200, pattern(500))
}

const [protocol, transport, certificate, key] = process.argv.slice(2)
const options = {
  spdy: {
    protocols: [protocol],
    plain: transport === 'plain',
    // 3 and 3.1 look the same on the wire. Where ALPN does not tell them apart, the first WINDOW_UPDATE of the
    // session does, if this is set.
    connection: { autoSpdy31: protocol === 'spdy/3.1' }
  }
}
if (transport === 'tls') Object.assign(options, { cert: fs.readFileSync(certificate), key: fs.readFileSync(key) })
const server = spdy.createServer(options, answer)
server.listen(0, '127.0.0.1', () => console.log(`listening on 127.0.0.1:${server.address().port}`))
