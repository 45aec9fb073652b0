import { showDials } from './dials';
import { place } from './element';
import { showLog } from './log';
import { showSteps } from './steps';
import { showTables } from './tables';
import { createWorld } from './twin';
import { sentence } from './words';

const news = (text: string) => {
  place('news').textContent = text;
};

async function start() {
  let waiting = false;
  const world = await createWorld((exchange) => {
    log.add(exchange);
    if (waiting) return;
    waiting = true;
    // Fifty racers are one picture.
    requestAnimationFrame(refresh);
  });
  const refresh = () => {
    waiting = false;
    tables.refresh();
    dials.refresh();
  };
  const log = showLog(place('log'), () => world.twin.clock.now());
  const tables = showTables(place('tables'), world);
  const steps = showSteps(place('steps'), world, news);
  const startOver = () => {
    world.twin.reset();
    log.clear();
    steps.forget();
    refresh();
  };
  const dials = showDials(place('dials'), world, { news, refresh, startOver });
  refresh();
  news('Ready: run the steps, one by one or all together.');
}

start().catch((error: unknown) => news(`The twin could not be started. ${sentence(error)}`));
