package v1alpha1_test

import (
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// setup returns a client for DatabaseManagers in a namespace of the test's own. It is a dynamic one, because a typed
// one could not even send what the rules are there to reject.
func setup(t *testing.T) (*rest.Config, string, dynamic.ResourceInterface) {
	config := testcluster.Config(t)
	testcluster.InstallDatabaseManagers(t, config)
	namespace := testcluster.Namespace(t, config)
	resource := dbv1alpha1.Resource("databasemanagers").WithVersion("v1alpha1")
	return config, namespace, dynamic.NewForConfigOrDie(config).Resource(resource).Namespace(namespace)
}

// parse returns a DatabaseManager with that spec, given as YAML in one line.
func parse(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	object := map[string]any{}
	text := `{apiVersion: coolops.cn/v1alpha1, kind: DatabaseManager, metadata: {generateName: x-}, ` + spec + `}`
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: object}
}

// check fails the test unless err has the words in it; without words there must be no error.
func check(t *testing.T, err error, words string) {
	t.Helper()
	switch {
	case words == "" && err != nil:
		t.Errorf("rejected: %v", err)
	case words != "" && err == nil:
		t.Errorf("accepted, want it rejected with %q", words)
	case err != nil && strings.Contains(err.Error(), "evaluating rule"):
		t.Errorf("a rule cannot be evaluated, whose message says what is not so: %v", err)
	case words != "" && !strings.Contains(err.Error(), words):
		t.Errorf("rejected with %q, want %q in it", err, words)
	}
}

const uid = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"

func TestCreate(t *testing.T) {
	_, _, client := setup(t)
	with := func(fields string) string { return "spec: {dbtype: mysql, deploymentName: mysql, " + fields + "}" }
	label63 := strings.Repeat("a", 63)
	for name, test := range map[string]struct {
		object string
		want   string // words of the error; empty if it is accepted
	}{
		"the article's example": {with("replicas: 1"), ""},
		"the fewest fields":     {with(""), ""},
		"all fields":            {with("replicas: 1, version: 8.4.6, storageSize: 10Gi, deletionPolicy: Retain"), ""},

		"no spec":    {"metadata: {}", "spec: Required value"},
		"empty spec": {"spec: {}", "spec.dbtype: Required value"},

		"dbtype mariadb":         {"spec: {dbtype: mariadb, deploymentName: m}", ""},
		"dbtype unknown":         {"spec: {dbtype: oracle, deploymentName: m}", `Unsupported value: "oracle"`},
		"dbtype in other case":   {"spec: {dbtype: MySQL, deploymentName: m}", `Unsupported value: "MySQL"`},
		"dbtype empty":           {"spec: {dbtype: '', deploymentName: m}", `Unsupported value: ""`},
		"dbtype missing":         {"spec: {deploymentName: m}", "spec.dbtype: Required value"},
		"dbtype of another type": {"spec: {dbtype: 1, deploymentName: m}", "must be of type string"},

		"deploymentName missing":           {"spec: {dbtype: mysql}", "spec.deploymentName: Required value"},
		"deploymentName empty":             {"spec: {dbtype: mysql, deploymentName: ''}", "spec.deploymentName in body should match"},
		"deploymentName of one letter":     {"spec: {dbtype: mysql, deploymentName: m}", ""},
		"deploymentName begins with digit": {"spec: {dbtype: mysql, deploymentName: 2nd-db}", ""},
		"deploymentName of 63 letters":     {"spec: {dbtype: mysql, deploymentName: " + label63 + "}", ""},
		"deploymentName of 64 letters":     {"spec: {dbtype: mysql, deploymentName: " + label63 + "a}", "may not be more than 63"},
		"deploymentName with a capital":    {"spec: {dbtype: mysql, deploymentName: MyDb}", "spec.deploymentName in body should match"},
		"deploymentName with a dot":        {"spec: {dbtype: mysql, deploymentName: my.db}", "spec.deploymentName in body should match"},
		"deploymentName with underscore":   {"spec: {dbtype: mysql, deploymentName: my_db}", "spec.deploymentName in body should match"},
		"deploymentName ends with a dash":  {"spec: {dbtype: mysql, deploymentName: my-}", "spec.deploymentName in body should match"},
		"deploymentName with a line feed":  {`spec: {dbtype: mysql, deploymentName: "my\n"}`, "spec.deploymentName in body should match"},

		"replicas 0":              {with("replicas: 0"), ""},
		"replicas 5":              {with("replicas: 5"), ""},
		"replicas 6":              {with("replicas: 6"), "less than or equal to 5"},
		"replicas -1":             {with("replicas: -1"), "greater than or equal to 0"},
		"replicas a fraction":     {with("replicas: 1.5"), "must be of type integer"},
		"replicas as text":        {with("replicas: '1'"), "must be of type integer"},
		"replicas null":           {with("replicas: null"), ""},
		"replicas beyond 32 bits": {with("replicas: 4294967297"), "less than or equal to 5"},

		"version of three numbers": {with("version: 10.11.14"), ""},
		"version of two numbers":   {with("version: '8.4'"), "spec.version in body should match"},
		"version as a number":      {with("version: 8.4"), "must be of type string"},
		"version latest":           {with("version: latest"), "spec.version in body should match"},
		"version with a suffix":    {with("version: 8.4.6-debian"), "spec.version in body should match"},
		"version with a zero":      {with("version: 8.04.6"), "spec.version in body should match"},
		"version with a digest":    {with("version: '8.4.6@sha256:00'"), "spec.version in body should match"},
		"version too long":         {with("version: 8.4." + strings.Repeat("1", 20)), "may not be more than 20"},

		"storageSize in Gi":             {with("storageSize: 1.5Gi"), ""},
		"storageSize in bytes":          {with("storageSize: 1073741824"), ""},
		"storageSize with an exponent":  {with("storageSize: 1e9"), ""},
		"storageSize 0":                 {with("storageSize: 0"), "storageSize is less than 1Mi"},
		"storageSize negative":          {with("storageSize: -1Gi"), "storageSize is less than 1Mi"},
		"storageSize of 1Pi":            {with("storageSize: 1Pi"), ""},
		"storageSize too large":         {with("storageSize: 1025Ti"), "storageSize is more than 1Pi"},
		"storageSize of no int64":       {with("storageSize: '1e32'"), "storageSize is more than 1Pi"},
		"storageSize without its unit":  {with("storageSize: 10"), "storageSize is less than 1Mi"},
		"storageSize with a wrong unit": {with("storageSize: 10GB"), "spec.storageSize in body should match"},
		"storageSize of IEC bytes":      {with("storageSize: 1GiB"), "storageSize is not a quantity"},
		"storageSize beyond all units":  {with("storageSize: 1e99999999999999999999"), "storageSize is not a quantity"},
		"storageSize empty":             {with("storageSize: ''"), "spec.storageSize in body should match"},
		"storageSize of no replica":     {with("storageSize: 1Gi, replicas: 0"), ""},
		"storageSize of two replicas":   {with("storageSize: 1Gi, replicas: 2"), "at most 1 replica"},

		"deletionPolicy Delete":  {with("deletionPolicy: Delete"), ""},
		"deletionPolicy unknown": {with("deletionPolicy: Orphan"), `Unsupported value: "Orphan"`},

		"adoptFrom with Retain":     {with("deletionPolicy: Retain, adoptFrom: " + uid), ""},
		"adoptFrom with Delete":     {with("deletionPolicy: Delete, adoptFrom: " + uid), "needs deletionPolicy Retain"},
		"adoptFrom without policy":  {with("adoptFrom: " + uid), "needs deletionPolicy Retain"},
		"adoptFrom that is no UID":  {with("deletionPolicy: Retain, adoptFrom: example"), "spec.adoptFrom in body should match"},
		"adoptFrom that is empty":   {with("deletionPolicy: Retain, adoptFrom: ''"), "spec.adoptFrom in body should match"},
		"adoptFrom with capitals":   {with("deletionPolicy: Retain, adoptFrom: 0A" + uid[2:]), "spec.adoptFrom in body should match"},
		"adoptFrom with a new line": {with(`deletionPolicy: Retain, adoptFrom: "` + uid + `\n"`), "spec.adoptFrom: Too long"},

		"unknown field":           {with("replica: 1"), `unknown field "spec.replica"`},
		"unknown field at top":    {with("") + ", specs: {}", `unknown field "specs"`},
		"unknown field in status": {with("") + ", status: {ready: true}", `unknown field "status.ready"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client.Create(t.Context(), parse(t, test.object), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
			check(t, err, test.want)
		})
	}
}

func TestUpdate(t *testing.T) {
	_, _, client := setup(t)
	const spec = "dbtype: mysql, deploymentName: mysql, "
	const adopting = spec + "deletionPolicy: Retain, adoptFrom: " + uid
	for name, test := range map[string]struct {
		from, to string
		want     string // words of the error; empty if it is accepted
	}{
		"dbtype":             {spec, "dbtype: mariadb, deploymentName: mysql", "dbtype can't be changed"},
		"deploymentName":     {spec, "dbtype: mysql, deploymentName: other", "deploymentName can't be changed"},
		"replicas":           {spec + "replicas: 2", spec + "replicas: 0", ""},
		"version":            {spec + "version: 8.4.5", spec + "version: 8.4.6", ""},
		"version removed":    {spec + "version: 8.4.5", spec, ""},
		"deletionPolicy":     {spec, spec + "deletionPolicy: Retain", ""},
		"storageSize grows":  {spec + "storageSize: 900Mi", spec + "storageSize: 1Gi", ""},
		"storageSize equal":  {spec + "storageSize: 1024Mi", spec + "storageSize: 1073741824", ""},
		"storageSize less":   {spec + "storageSize: 1Gi", spec + "storageSize: 900Mi", "storageSize can't shrink"},
		"storageSize typo":   {spec + "storageSize: 1Gi", spec + "storageSize: 1GiB", "storageSize is not a quantity"},
		"storageSize added":  {spec, spec + "storageSize: 1Gi", "neither added nor removed"},
		"storageSize gone":   {spec + "storageSize: 1Gi", spec, "neither added nor removed"},
		"adoptFrom equal":    {adopting, adopting + ", replicas: 0", ""},
		"adoptFrom added":    {spec + "deletionPolicy: Retain", adopting, "adoptFrom can be neither added nor removed"},
		"adoptFrom changed":  {adopting, strings.Replace(adopting, uid, "f"+uid[1:], 1), "adoptFrom can't be changed"},
		"adoptFrom gone":     {adopting, spec + "deletionPolicy: Retain", "adoptFrom can be neither added nor removed"},
		"Delete, later":      {adopting, spec + "adoptFrom: " + uid, ""},
		"scaled with a disk": {spec + "storageSize: 1Gi", spec + "storageSize: 1Gi, replicas: 2", "at most 1 replica"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := testkit.Must(client.Create(t.Context(), parse(t, "spec: {"+test.from+"}"), metav1.CreateOptions{}))(t)
			object.Object["spec"] = parse(t, "spec: {"+test.to+"}").Object["spec"]
			_, err := client.Update(t.Context(), object, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
			check(t, err, test.want)
		})
	}
}

// TestUnknownFieldIsPruned shows what happens without strict validation: nothing is said, and the field is gone.
func TestUnknownFieldIsPruned(t *testing.T) {
	_, _, client := setup(t)
	options := metav1.CreateOptions{FieldValidation: metav1.FieldValidationIgnore}
	object := testkit.Must(client.Create(t.Context(), parse(t, "spec: {dbtype: mysql, deploymentName: mysql, replica: 3}"), options))(t)
	spec := object.Object["spec"].(map[string]any)
	if spec["replica"] != nil || spec["replicas"] != int64(1) || spec["deletionPolicy"] != "Delete" {
		t.Errorf("stored spec %v, want no replica, and the defaults of replicas and deletionPolicy", spec)
	}
}

func TestStatusSubresource(t *testing.T) {
	_, _, client := setup(t)
	withStatus := parse(t, "spec: {dbtype: mysql, deploymentName: mysql}, status: {availableReplicas: 3}")
	object := testkit.Must(client.Create(t.Context(), withStatus, metav1.CreateOptions{}))(t)
	if object.Object["status"] != nil {
		t.Error("creating an object has set its status")
	}
	generation := object.GetGeneration()
	object.Object["status"] = map[string]any{"availableReplicas": int64(2)}
	object.Object["spec"].(map[string]any)["replicas"] = int64(5)
	object = testkit.Must(client.UpdateStatus(t.Context(), object, metav1.UpdateOptions{}))(t)
	status, spec := object.Object["status"].(map[string]any), object.Object["spec"].(map[string]any)
	if status["availableReplicas"] != int64(2) || spec["replicas"] != int64(1) || object.GetGeneration() != generation {
		t.Errorf("writing the status of both gave status %v, spec %v, generation %d", status, spec, object.GetGeneration())
	}

	condition := func(fields string) string {
		return "{type: Ready, message: '', lastTransitionTime: '2026-01-01T00:00:00Z', " + fields + "}"
	}
	ready := condition("status: 'True', reason: R")
	for name, test := range map[string]struct{ status, want string }{
		"a condition without a reason":     {"conditions: [" + condition("status: 'True'") + "]", "reason: Required value"},
		"a condition with a wrong status":  {"conditions: [" + condition("status: 'Yes', reason: R") + "]", `Unsupported value: "Yes"`},
		"the same condition twice":         {"conditions: [" + ready + ", " + ready + "]", "Duplicate value"},
		"availableReplicas as a text":      {"availableReplicas: '1'", "must be of type integer"},
		"a field that status doesn't have": {"phase: Running", "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			object := object.DeepCopy()
			object.Object["status"] = parse(t, "status: {"+test.status+"}").Object["status"]
			_, err := client.UpdateStatus(t.Context(), object, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
			check(t, err, test.want)
		})
	}
}

func TestScaleSubresource(t *testing.T) {
	config, namespace, client := setup(t)
	typed := versioned.NewForConfigOrDie(config).CoolopsV1alpha1().DatabaseManagers(namespace)
	scale := func(name string, replicas int32) error {
		_, err := typed.UpdateScale(t.Context(), name, &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
			Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
		}, metav1.UpdateOptions{})
		return err
	}

	plain := testkit.Must(client.Create(t.Context(), parse(t, "spec: {dbtype: mysql, deploymentName: mysql}"), metav1.CreateOptions{}))(t)
	check(t, scale(plain.GetName(), 2), "")
	check(t, scale(plain.GetName(), 6), "less than or equal to 5")
	plain.Object["status"] = map[string]any{"availableReplicas": int64(1), "selector": "a=b"}
	plain.SetResourceVersion("")
	patch := testkit.Must(plain.MarshalJSON())(t)
	options := metav1.PatchOptions{}
	testkit.Must(client.Patch(t.Context(), plain.GetName(), "application/merge-patch+json", patch, options, "status"))(t)
	got := testkit.Must(typed.GetScale(t.Context(), plain.GetName(), metav1.GetOptions{}))(t)
	if got.Spec.Replicas != 2 || got.Status.Replicas != 1 || got.Status.Selector != "a=b" {
		t.Errorf("scale has spec %+v, status %+v", got.Spec, got.Status)
	}

	withDisk := parse(t, "spec: {dbtype: mysql, deploymentName: mysql, storageSize: 1Gi}")
	disk := testkit.Must(client.Create(t.Context(), withDisk, metav1.CreateOptions{}))(t)
	check(t, scale(disk.GetName(), 0), "")
	check(t, scale(disk.GetName(), 2), "at most 1 replica")
}

// TestColumns asks for a table, as kubectl get does.
func TestColumns(t *testing.T) {
	config, namespace, client := setup(t)
	two := parse(t, "spec: {dbtype: mysql, deploymentName: mysql, replicas: 2}")
	testkit.Must(client.Create(t.Context(), two, metav1.CreateOptions{}))(t)
	answer, err := versioned.NewForConfigOrDie(config).CoolopsV1alpha1().RESTClient().Get().
		Namespace(namespace).Resource("databasemanagers").
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table := metav1.Table{}
	if err := yaml.Unmarshal(answer, &table); err != nil {
		t.Fatal(err)
	}
	var narrow, wide []string
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			narrow = append(narrow, strings.ToUpper(column.Name))
		} else {
			wide = append(wide, strings.ToUpper(column.Name))
		}
	}
	if got := strings.Join(narrow, " ") + " / " + strings.Join(wide, " "); got != "NAME TYPE READY REPLICAS AGE / REASON DEPLOYMENT" {
		t.Errorf("columns: %s", got)
	}
	if cells := table.Rows[0].Cells; cells[1] != "mysql" || cells[3] != float64(2) {
		t.Errorf("cells: %v", cells)
	}
}

// TestNames checks what the object can be called by.
func TestNames(t *testing.T) {
	config, _, _ := setup(t)
	resources, err := versioned.NewForConfigOrDie(config).Discovery().ServerResourcesForGroupVersion(dbv1alpha1.GroupVersion.String())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, resource := range resources.APIResources {
		got = append(got, resource.Name+":"+strings.Join(resource.ShortNames, ",")+":"+strings.Join(resource.Categories, ","))
	}
	for _, want := range []string{"databasemanagers:dbm:all,databases", "databasemanagers/status::", "databasemanagers/scale::"} {
		if !strings.Contains(strings.Join(got, " "), want) {
			t.Errorf("resources %q, want %q among them", got, want)
		}
	}
}
