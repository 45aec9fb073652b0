import { Dynatwin } from 'dynatwin';
import { useDynatwin } from 'dynatwin/jest';

const tables = [
  {
    TableName: 'Tasks',
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    data: [{ id: '1' }],
  },
];
const twin = useDynatwin({ tables });

test('Jest runs ES modules', () => {
  expect(twin).toBeInstanceOf(Dynatwin);
  expect(twin.items('Tasks')).toHaveLength(1);
});
