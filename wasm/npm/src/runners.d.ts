// The parts of test runners that the helpers use. Users of a helper have the runner's own types.
declare module '@jest/globals' {
  type Hook = (hook: () => void | Promise<void>) => void;
  export const afterAll: Hook;
  export const beforeAll: Hook;
  export const beforeEach: Hook;
}

declare module 'vitest' {
  type Hook = (hook: () => void | Promise<void>) => void;
  export const afterAll: Hook;
  export const beforeAll: Hook;
  export const beforeEach: Hook;
  export interface TestAPI<Fixtures> {
    extend<More>(fixtures: {
      [Name in keyof More]: (context: object, use: (value: More[Name]) => Promise<void>) => Promise<void>;
    }): TestAPI<Fixtures & More>;
  }
  export const test: TestAPI<object>;
}
