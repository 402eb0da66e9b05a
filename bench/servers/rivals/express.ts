import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { announce } from '../announce.js';
import { DAY_MS, MINUTE_MS, PER_DAY, PER_MINUTE } from '../plenty.js';
import { cancel, keyIdOf, LIST_BODY, NOT_FOUND_BODY, refill } from './usual-parts.js';

const app = express();
// Switches off the header fields `X-Powered-By` and `ETag`, which the other frameworks do not send
// by default.
app.disable('x-powered-by').disable('etag');

app.use((request, response, next) => {
  const keyId = keyIdOf(request.headers.authorization);
  if (keyId === undefined) {
    response.sendStatus(401);
    return;
  }
  response.locals['keyId'] = keyId;
  next();
});
const keyGenerator = (_: express.Request, response: express.Response) => String(response.locals['keyId']);
app.use(rateLimit({ windowMs: DAY_MS, limit: PER_DAY, legacyHeaders: false, keyGenerator }));
app.use(rateLimit({ windowMs: MINUTE_MS, limit: PER_MINUTE, legacyHeaders: true, keyGenerator }));

app.get('/v1/store/orders', (_, response) => {
  response.type('json').send(LIST_BODY);
});
app.delete('/v1/store/orders/:id', (request, response) => {
  const status = cancel(request.params.id);
  if (status === 404) response.status(status).type('json').send(NOT_FOUND_BODY);
  else response.status(status).end();
});

announce(app.listen(0, '127.0.0.1'), refill);
