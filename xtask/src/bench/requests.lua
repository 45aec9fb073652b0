-- The four requests under load, one kind a run: BENCH_OPERATION=get|put|update|query.
local operation = os.getenv("BENCH_OPERATION")
local names = { get = "GetItem", put = "PutItem", update = "UpdateItem", query = "Query" }
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
