-- The requests under load, one kind a run: BENCH_OPERATION=get|put|update|query, or one of those that only profiles need.
local operation = os.getenv("BENCH_OPERATION")
local names = {
  get = "GetItem", put = "PutItem", update = "UpdateItem", query = "Query",
  delete = "DeleteItem", filter = "Query", scan = "Scan", batch_get = "BatchGetItem", batch_write = "BatchWriteItem",
  transact_get = "TransactGetItems", transact_write = "TransactWriteItems", statement = "ExecuteStatement",
}
local padding = string.rep("x", 900)
local headers = {
  ["Content-Type"] = "application/x-amz-json-1.0",
  ["X-Amz-Date"] = "20260101T000000Z",
  ["X-Amz-Target"] = "DynamoDB_20120810." .. names[operation],
  ["Authorization"] = os.getenv("BENCH_AUTHORIZATION"),
}

local bodies = {}
function bodies.get(key)
  return '{"TableName":"bench","Key":{' .. key .. '}}'
end
function bodies.put(key, task)
  return '{"TableName":"bench","Item":{' .. key .. ',"n":{"N":"' .. task .. '"},"body":{"S":"' .. padding .. '"}}}'
end
function bodies.update(key)
  return '{"TableName":"bench","Key":{' .. key .. '},"UpdateExpression":"SET n = n + :one, #s = :s",'
    .. '"ConditionExpression":"attribute_exists(pk)","ExpressionAttributeNames":{"#s":"status"},'
    .. '"ExpressionAttributeValues":{":one":{"N":"1"},":s":{"S":"DONE"}}}'
end
function bodies.query(_, task, project)
  return '{"TableName":"bench","KeyConditionExpression":"pk = :p AND begins_with(sk, :s)",'
    .. string.format('"ExpressionAttributeValues":{":p":{"S":"PROJECT#%03d"},":s":{"S":"TASK#%02d"}}}', project, task / 10)
end

-- A key that differs from the one of the request.
local function other_key(task, project)
  return string.format('"pk":{"S":"PROJECT#%03d"},"sk":{"S":"TASK#%03d"}', project, (task + 1) % 100)
end
local addition = '"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}'
function bodies.delete(key)
  return '{"TableName":"bench","Key":{' .. key .. '},"ReturnValues":"ALL_OLD"}'
end
function bodies.filter(_, task, project)
  return '{"TableName":"bench","KeyConditionExpression":"pk = :p","FilterExpression":"n > :n","ProjectionExpression":"sk, n",'
    .. string.format('"ExpressionAttributeValues":{":p":{"S":"PROJECT#%03d"},":n":{"N":"%d"}}}', project, task)
end
function bodies.scan(key)
  return '{"TableName":"bench","Limit":10,"ExclusiveStartKey":{' .. key .. '}}'
end
function bodies.batch_get(key, task, project)
  return '{"RequestItems":{"bench":{"Keys":[{' .. key .. '},{' .. other_key(task, project) .. '}]}}}'
end
function bodies.batch_write(key, task, project)
  return '{"RequestItems":{"bench":[{"PutRequest":{"Item":{' .. key .. ',"n":{"N":"1"}}}},'
    .. '{"DeleteRequest":{"Key":{' .. other_key(task, project) .. '}}}]}}'
end
function bodies.transact_get(key, task, project)
  return '{"TransactItems":[{"Get":{"TableName":"bench","Key":{' .. key .. '}}},'
    .. '{"Get":{"TableName":"bench","Key":{' .. other_key(task, project) .. '}}}]}'
end
function bodies.transact_write(key, task, project)
  return '{"TransactItems":[{"Update":{"TableName":"bench","Key":{' .. key .. '},' .. addition .. '}},'
    .. '{"Update":{"TableName":"bench","Key":{' .. other_key(task, project) .. '},' .. addition .. '}}]}'
end
function bodies.statement(_, task, project)
  return [[{"Statement":"SELECT * FROM bench WHERE pk = ? AND sk = ?","Parameters":]]
    .. string.format('[{"S":"PROJECT#%03d"},{"S":"TASK#%03d"}]}', project, task)
end

-- Each thread draws keys of its own, and the same ones in every run.
local threads = 0
function setup(thread)
  threads = threads + 1
  thread:set("seed", threads)
end
function init()
  math.randomseed(seed)
end
function request()
  local project, task = math.random(0, 99), math.random(0, 99)
  local key = string.format('"pk":{"S":"PROJECT#%03d"},"sk":{"S":"TASK#%03d"}', project, task)
  return wrk.format("POST", "/", headers, bodies[operation](key, task, project))
end
