// A client made of `spdy-transport`, what package `spdy` stands on: see ../README.md. The agent of `spdy` itself
// does not get on with today's Node (docs/interop.md).
'use strict'

const { createHash } = require('crypto')
const fs = require('fs')
const net = require('net')
const tls = require('tls')
const { connection: transport } = require('spdy-transport')

function report (path, pushed, stream, ended) {
  const hash = createHash('sha256')
  let status = null
  let bytes = 0
  stream.on('response', code => { status = code })
  stream.on('data', piece => {
    bytes += piece.length
    hash.update(piece)
  })
  stream.on('end', () => {
    console.log(JSON.stringify({ path, status, bytes, sha256: hash.digest('hex'), pushed }))
    ended()
  })
}

function ask (connection, { method, path, file }, host, ended) {
  const body = file && fs.readFileSync(file)
  const headers = body ? { 'content-length': String(body.length) } : {}
  const stream = connection.request({ method, path, host, headers }, () => stream.end(body))
  report(path, false, stream, ended)
  // SPDY/2 names what is pushed by its whole URL (draft 2, section 3.3.1).
  const pathOf = pushed => new URL(pushed.path, `http://${host}`).pathname
  stream.on('pushPromise', pushed => report(pathOf(pushed), true, pushed, () => {}))
}

function fetch (socket, protocol, host, wanted, concurrency) {
  const framing = protocol === 'h2' ? 'http2' : 'spdy'
  const connection = transport.create(socket, { protocol: framing, isServer: false })
  // To this package HTTP/2 is the version after SPDY/3.1.
  connection.start(protocol === 'h2' ? 4 : Number(protocol.slice('spdy/'.length)))
  let open = 0
  const next = () => {
    while (open < concurrency && wanted.length > 0) {
      open++
      ask(connection, wanted.shift(), host, () => {
        open--
        next()
      })
    }
    if (open === 0) connection.end()
  }
  next()
}

function requests () {
  const lines = fs.readFileSync(0, 'utf8').trim().split('\n')
  return lines.map(line => {
    const [method, path, file] = line.split(' ')
    return { method, path, file }
  })
}

const [protocol, security, address, concurrency] = process.argv.slice(2)
const [host, port] = address.split(':')
const options = { host, port, ALPNProtocols: [protocol], rejectUnauthorized: false }
const socket = security === 'tls' ? tls.connect(options) : net.connect(options)
socket.once(security === 'tls' ? 'secureConnect' : 'connect', () => {
  fetch(socket, protocol, address, requests(), Number(concurrency))
})
