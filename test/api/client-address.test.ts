import t from 'tap'
import { clientAddress, readRanges } from '../../api/client-address.ts'

t.test('the client address', async (t) => {
  const proxies = readRanges('10.0.0.0/8, 192.0.2.1, fd00::/8')

  t.test('is the connected one when no proxy is trusted', async (t) => {
    t.equal(clientAddress('203.0.113.9', '1.2.3.4', []), '203.0.113.9')
    t.equal(clientAddress('203.0.113.9', '1.2.3.4', proxies), '203.0.113.9')
  })

  t.test('is the nearest one that trusted proxies vouch for', async (t) => {
    t.equal(clientAddress('10.0.0.1', '1.2.3.4', proxies), '1.2.3.4')
    t.equal(clientAddress('10.0.0.1', '6.6.6.6, 1.2.3.4, 192.0.2.1', proxies), '1.2.3.4')
    t.equal(clientAddress('fd00::7', '1.2.3.4', proxies), '1.2.3.4')
  })

  t.test('stays the proxy when what it appended is no address', async (t) => {
    t.equal(clientAddress('10.0.0.1', undefined, proxies), '10.0.0.1')
    t.equal(clientAddress('10.0.0.1', '1.2.3.4, unknown', proxies), '10.0.0.1')
  })

  t.test('is the /64 network of an IPv6 client, and IPv4 however it is written', async (t) => {
    t.equal(clientAddress('2001:db8:1:2:3:4:5:6', undefined, []), '2001:db8:1:2::/64')
    t.equal(clientAddress('::ffff:203.0.113.9', undefined, []), '203.0.113.9')
    t.equal(clientAddress('::ffff:10.0.0.1', '1.2.3.4', proxies), '1.2.3.4')
  })

  t.test('cannot be read from a list that holds no ranges', async (t) => {
    t.throws(() => readRanges('10.0.0.0/8,proxy.local'), { message: /proxy\.local/ })
  })
})
