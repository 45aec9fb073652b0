/** @jest-environment jsdom */
const { Dynatwin } = require('dynatwin');
const { TASKS } = require('../table');

test('a twin works beside a DOM', () => {
  expect(document.body).toBeDefined();
  const twin = new Dynatwin();
  expect(twin.dispatch('CreateTable', JSON.stringify(TASKS)).status).toBe(200);
  expect(twin.tables()).toEqual(['Tasks']);
});
